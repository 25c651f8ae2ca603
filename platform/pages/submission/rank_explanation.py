"""Why a submission has its rank, as the pages of all formats say it. Each format words its scores and distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from competitions.models import RulesVersion
from pages.player_names import PlayerName

Row = TypeVar("Row")


@dataclass(frozen=True)
class Neighbour:
    """The row of the next better rank, for the first one of the next worse; its score in words."""

    rank: int
    name: PlayerName
    score: str


@dataclass(frozen=True)
class Costliest:
    """The opponent against which a submission loses most to a better neighbour, and what both have against it.

    `url` is the page of the match; "" without one.
    """

    title: str
    own: str
    theirs: str
    url: str = ""


@dataclass(frozen=True)
class RankExplanation:
    """Why a submission has its rank on a leaderboard.

    `leads`: the neighbour is behind it. `gap` is the distance between the scores in words, "" for equal ones.
    `compare` is the address of a comparison of the two. `changes` are sentences on what other opponents, rules or
    samples did to the score, and `history` is where the rest is. Addresses are "" where there is none.
    """

    neighbour: Neighbour | None
    leads: bool = False
    gap: str = ""
    leaderboard: str = ""
    """The name of the leaderboard, where the submission is on several."""
    compare: str = ""
    costliest: Costliest | None = None
    changes: Sequence[str] = ()
    history: str = ""


class Basis(Protocol):
    """The rules and samples under which a score was measured."""

    rules_id: int
    sample_set_id: int

    @property
    def rules(self) -> RulesVersion:
        """The version of the rules."""


def other_basis(before: Basis, now: Basis) -> list[str]:
    """Return in words what a score was measured on that an earlier one was not."""
    rules = [f"version {now.rules.version} of the rules"] if before.rules_id != now.rules_id else []
    return [*rules, *(["new samples"] if before.sample_set_id != now.sample_set_id else [])]


def change_of_score(causes: Sequence[str], then: str, now: str, *, what: str = "score") -> str:
    """Return the sentence on a score (`what`) before the `causes`, and now."""
    return f"Before {', '.join(causes)}, its {what} was {then}; now it is {now}."


def percentage_points(first: float, second: float) -> str:
    """Return the difference of two shares (0 to 1) in percentage points, "" if they are equal."""
    return "" if first == second else f"{100 * abs(first - second):.1f} percentage points"


def next_to(rows: Sequence[Row], own: Row, rank: Callable[[Row], int]) -> tuple[Row | None, bool]:
    """Return the nearest row with a better rank, else the one that follows; and whether `own` leads.

    `rows` are those with a rank, the best first. Of equal ranks, the first one is taken.
    """
    better = [row for row in rows if rank(row) < rank(own)]
    if better:
        nearest = rank(better[-1])
        return next(row for row in better if rank(row) == nearest), False
    return next((row for row in rows if row is not own), None), True
