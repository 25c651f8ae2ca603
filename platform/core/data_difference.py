"""Differences found by a check of stored data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """A difference: `subject` names a row; `problem` says what is stored and what is expected, without a full stop."""

    subject: str
    problem: str
    repaired: bool = False

    def __str__(self) -> str:
        return f"{self.subject}: {self.problem}{' (repaired)' if self.repaired else ''}"


@dataclass(frozen=True)
class Verified:
    """Numbers of compared scores and of compared rows of leaderboards, and their differences."""

    scores: int = 0
    ranked: int = 0
    differences: tuple[Difference, ...] = ()

    def __add__(self, other: Verified) -> Verified:
        return Verified(self.scores + other.scores, self.ranked + other.ranked, (*self.differences, *other.differences))
