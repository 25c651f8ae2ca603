"""How much of each limit of a competition a submission used in a smoke test."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NEAR = 0.8
"""The share of a limit from which a submission is said to be near it."""


class Unit(StrEnum):
    """What a limit counts."""

    SECONDS = "seconds"
    BYTES = "bytes"
    COUNT = "count"


class Room(StrEnum):
    """How much room a submission leaves below a limit."""

    ENOUGH = "ok"
    LITTLE = "near the limit"
    NONE = "over the limit"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class LimitUse:
    """One limit of the rules or of the sandbox. Seconds are those of the reference machine."""

    name: str
    used: float | None
    """What was seen; None where this host cannot measure it, or the test ended before."""
    limit: float
    unit: Unit = Unit.SECONDS
    estimated: bool = False
    """True if `used` is an upper bound, extended from a test that was smaller than what the limit is for."""

    @property
    def share(self) -> float | None:
        """`used` as a share of the limit; None where it was not measured."""
        return None if self.used is None else self.used / self.limit

    @property
    def room(self) -> Room:
        """How much room is left."""
        if self.share is None:
            return Room.UNKNOWN
        if self.share > 1:
            return Room.NONE
        return Room.LITTLE if self.share >= NEAR else Room.ENOUGH
