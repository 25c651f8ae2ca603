"""What commands ask of a format of the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from evaluation.baselines.bundled import BundledRepository
from evaluation.baselines.templates import Template


@dataclass(frozen=True)
class FirstSubmission:
    """What `gauntlet new` proposes for a track."""

    copied: str
    """The bundled submission that it copies without `--like`."""
    trial: str
    """Options of `gauntlet play` for a first match of the copy, on digits."""


class EngineFormat(ABC):
    """A format: its repositories and its bundled submissions."""

    name: ClassVar[str]
    """Its name, as in `--format`."""
    manifests: ClassVar[tuple[str, ...]]
    """The files by which its repositories are known."""
    first_submissions: ClassVar[Mapping[str, FirstSubmission]]
    """What `gauntlet new` proposes, by track."""

    @abstractmethod
    def bundled(self) -> Sequence[BundledRepository]:
        """Return its bundled submissions."""

    def templates(self) -> Sequence[Template]:
        """Return its templates, at most one of a track and framework; by default it has none."""
        return ()

    @abstractmethod
    def retitle(self, manifest: str, title: str) -> str:
        """Return the text of a manifest with another title. Raise `ManifestRefusal` for an invalid title."""
