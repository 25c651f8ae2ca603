"""What a check of stored data against what it follows from has found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """`subject` names a row; `problem` says what is stored and what should be, in a sentence without a full stop."""

    subject: str
    problem: str
    repaired: bool = False

    def __str__(self) -> str:
        return f"{self.subject}: {self.problem}{' (repaired)' if self.repaired else ''}"
