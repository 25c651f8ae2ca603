"""Tracks, and the players that a builder makes of submissions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class TrackName(StrEnum):
    """What is submitted and how it is scored."""

    MODEL = "model"
    UNTARGETED = "untargeted"
    TARGETED = "targeted"

    @property
    def side(self) -> Side:
        """The side of a submission to this track in a match."""
        return Side.MODEL if self is TrackName.MODEL else Side.ATTACK


class Side(StrEnum):
    """The two sides of a match."""

    MODEL = "model"
    ATTACK = "attack"


@dataclass(frozen=True)
class Program:
    """What a sandbox starts: the result of a builder.

    Exactly one of `image` (the id of a Docker image) and `directory` (a checkout for the current interpreter) is set.
    `digest` identifies the content: equal digests are the same program.
    """

    name: str
    command: tuple[str, ...]
    digest: str
    directory: Path | None = None
    image: str | None = None
    gpu: bool = False
    readable: tuple[Path, ...] = ()
    """Further directories of this host that a program with a `directory` reads, such as an environment of its own."""
    team: str = ""
    """Whose it is, where that is known: none of its team's programs runs on a host that audits it."""


@dataclass(frozen=True)
class QueryPlayer(Program):
    """A built submission of the query format: a program that speaks with the referee."""

    track: TrackName = field(kw_only=True)
