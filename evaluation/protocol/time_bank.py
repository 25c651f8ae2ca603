"""The seconds that a player may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class TimeBank:
    """The seconds that a player has used, of those that it was allowed."""

    allowed: float
    used: float = 0.0

    @property
    def left(self) -> float:
        return self.allowed - self.used
