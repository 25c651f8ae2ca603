"""Places of a leaderboard, computed from scored submissions as a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from formats.query.leaderboards.scoring_adapter import ranks

COMPARED = 100
"""Ranked rows that are compared with each other: the first pages. Cost grows with the square: on two cores, 100 rows
take about half a second and 300 nearly three, while the lock of the track is held."""

CHANGE_OVER = timedelta(hours=24)
"""Time between the previous rank of a rank change and the newest score of the track."""

BasisKey: TypeAlias = tuple[int, int, int]
"""Basis of a score: the keys of its pool, rules and sample set. Keys only grow, so a later basis is larger."""


class ScoredEvaluation(NamedTuple):
    """Scored evaluation of a submission that counts (see `formats.query.leaderboards.evaluation_basis.counting`).

    `submission` and `evaluation` are numbers that grow with time; `entry` is their owner.
    """

    entry: int
    submission: int
    evaluation: int
    scored_at: datetime
    value: float
    basis: BasisKey


class Choice(NamedTuple):
    """From `at` on, this submission of an entry counts instead of its newest one; None: its newest one again."""

    at: datetime
    entry: int
    submission: int | None


Chosen: TypeAlias = Mapping[int, int | None]
"""The submission that counts instead of the newest one, by entry."""

NOTHING_CHOSEN: Chosen = MappingProxyType({})

Tried: TypeAlias = Mapping[tuple[int, int], int]
"""Number of submissions of an entry with a score on a sample set, by the keys of both."""


class BoardPlace(NamedTuple):
    """One row of a leaderboard: `place` is where it is listed; equal scores share it.

    `rank` is None for a score on another basis than the current one; such rows are listed below the ranked ones.
    `previous_rank` is None where the entry had no rank on the same basis then. `rank_low` and `rank_high` are the 95 %
    rank interval, None where none is computed; `rank_high` alone is None if the interval reaches below the compared
    rows. `separated`: whether the data separate the row from all rows of the next rank. `chosen`: whether the entry
    chose this submission. `tried`: the number of submissions that it could choose from, None where the newest counts.
    """

    entry: int
    evaluation: int
    place: int
    rank: int | None
    previous_rank: int | None
    rank_low: int | None = None
    rank_high: int | None = None
    separated: bool | None = None
    chosen: bool = False
    tried: int | None = None


def chosen_by(choices: Iterable[Choice]) -> Chosen:
    """Return the submissions that count after `choices`, oldest first."""
    return {choice.entry: choice.submission for choice in choices}


def places(
    rows: Iterable[ScoredEvaluation],
    track_name: str,
    in_force: BasisKey | None,
    choices: Sequence[Choice] = (),
    tried: Tried | None = None,
) -> dict[int, BoardPlace]:
    """Return the board of the track `track_name` by entry, from rows in any order and choices, oldest first.

    For each entry the chosen or else the newest scored submission counts, with its newest evaluation on the latest
    basis. Only scores on the basis `in_force` have a rank; the others are listed below, the latest basis first. `tried`
    is given where entries may choose.
    """
    rows = list(rows)
    if not rows:
        return {}
    before = max(row.scored_at for row in rows) - CHANGE_OVER
    chosen = chosen_by(choices)
    counting = _counting(rows, chosen)
    now = _places(counting, track_name, in_force)
    chosen_before = chosen_by(choice for choice in choices if choice.at <= before)
    counted_before = _counting((row for row in rows if row.scored_at <= before), chosen_before)
    then = _places(counted_before, track_name, in_force)
    board = {}
    for entry, row in counting.items():
        ranked = row.basis == in_force
        comparable = ranked and entry in counted_before and counted_before[entry].basis == in_force
        board[entry] = BoardPlace(
            entry,
            row.evaluation,
            place=now[entry],
            rank=now[entry] if ranked else None,
            previous_rank=then[entry] if comparable else None,
            chosen=row.submission == chosen.get(entry),
            tried=None if tried is None else tried.get((entry, row.basis[2]), 1),
        )
    return board


def order(rows: Iterable[ScoredEvaluation], track_name: str, chosen: Chosen = NOTHING_CHOSEN) -> dict[int, int]:
    """Return the place of each entry by the score that counts: the latest basis first, then earlier ones."""
    return _places(_counting(rows, chosen), track_name, None)


def order_before(
    rows: Iterable[ScoredEvaluation], track_name: str, in_force: BasisKey, chosen: Chosen = NOTHING_CHOSEN
) -> dict[int, int]:
    """Return the place of each entry on the board before the basis `in_force`: the order of the new evaluations.

    It does not change while scores on the new basis arrive.
    """
    return order((row for row in rows if row.basis != in_force), track_name, chosen)


def _counting(rows: Iterable[ScoredEvaluation], chosen: Chosen) -> dict[int, ScoredEvaluation]:
    found: dict[int, ScoredEvaluation] = {}
    for row in rows:
        rival = found.get(row.entry)
        if rival is None or counts_before(row, rival, chosen.get(row.entry)):
            found[row.entry] = row
    return found


def counts_before(row: ScoredEvaluation, rival: ScoredEvaluation, chosen: int | None) -> bool:
    """Return whether of two scores of an entry the first one counts: the chosen submission, or else the newer one."""
    if row.submission != rival.submission:
        return chosen != rival.submission and (chosen == row.submission or row.submission > rival.submission)
    return (row.basis, row.evaluation) > (rival.basis, rival.evaluation)


def _places(counting: dict[int, ScoredEvaluation], track_name: str, in_force: BasisKey | None) -> dict[int, int]:
    """Return ranks within each basis; those of other bases come after those of the basis `in_force`."""
    by_terms: dict[BasisKey, dict[int, float]] = {}
    for entry, row in counting.items():
        by_terms.setdefault(row.basis, {})[entry] = row.value
    listed: dict[int, int] = {}
    for basis in sorted(by_terms, key=lambda basis: (basis == in_force, basis), reverse=True):
        above = len(listed)
        listed |= {entry: above + rank for entry, rank in ranks(by_terms[basis], track_name).items()}
    return listed
