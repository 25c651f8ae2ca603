"""Time limits of the players, in seconds of the reference machine.

Neither player's time depends on the other: the attack's clock is stopped while the model works, and the model's while
the attack works.
"""

from __future__ import annotations

from dataclasses import dataclass

MODEL_GRACE_SECONDS = 10.0
"""Seconds that a model may overdraw: short delays of a busy host are covered, an endless loop ends within it.

It is used up by frames that take longer than their images allow, and restored by frames that take less.
"""


@dataclass
class TimeBank:
    """The seconds that a player has used, of those that it was allowed."""

    allowed: float
    used: float = 0.0

    @property
    def left(self) -> float:
        return self.allowed - self.used
