"""Player of the transfer format: a built submission with its track and entry point."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.formats.transfer.rules import TransferTrack


@dataclass(frozen=True)
class LegacyStart:
    """How a submission of 2017 is started: the interpreter, the modules that it imports, and what it reads besides."""

    python: str
    modules: Path
    readable: tuple[Path, ...] = ()


@dataclass(frozen=True)
class TransferPlayer:
    """A built submission of the transfer format.

    `source` holds its files, of which every run gets a fresh copy; `entry_point` is the path of its script among them.
    `image` is the Docker image in which they run, None for the process sandbox. `legacy` is None for a submission that
    is written for current packages.
    """

    name: str
    track: TransferTrack
    entry_point: str
    digest: str
    source: Path
    image: str | None = None
    gpu: bool = False
    legacy: LegacyStart | None = None
