"""Tracks, and the players that a builder makes of submissions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Track(StrEnum):
    """What is submitted and how it is scored."""

    MODEL = "model"
    UNTARGETED = "untargeted"
    TARGETED = "targeted"

    @property
    def side(self) -> Side:
        """Which side of a match a submission to this track plays."""
        return Side.MODEL if self is Track.MODEL else Side.ATTACK


class Side(StrEnum):
    """The two chairs of a match."""

    MODEL = "model"
    ATTACK = "attack"


@dataclass(frozen=True)
class Player:
    """A submission made ready to run: what a builder yields and a sandbox starts.

    Exactly one of `image` (a Docker image, named by its id) and `directory` (a checkout that runs with the current
    interpreter) is set. `digest` names the content: equal digests are the same player.
    """

    name: str
    track: Track
    command: tuple[str, ...]
    digest: str
    directory: Path | None = None
    image: str | None = None
    gpu: bool = False
