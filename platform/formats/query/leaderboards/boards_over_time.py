"""Leaderboards over time: computed again, in one pass, from the scores that count now and were known then.

As on a past leaderboard, submissions that were withdrawn or disqualified since then are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from heapq import nsmallest
from itertools import groupby
from typing import NamedTuple, TypeAlias

from competitions.models import Entry, SampleSet, Track
from competitions.sample_set_selectors import imported_sets
from formats.query.leaderboards.evaluation_basis import COUNTED, counted_at, opposing_pools, scored_rows
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.ranking import BasisKey, Choice, ScoredEvaluation, counts_before
from formats.query.leaderboards.submission_choices import choice_changes
from formats.query.tracks import MODEL

PERIODS = 60
"""The ranks of a team are kept at the end of this many equal periods, and whenever its own score changes."""


class BasisChange(NamedTuple):
    """A new basis of the scores of a track: its key, None while something is missing, and what is new in words."""

    at: datetime
    key: BasisKey | None
    what: str


Happening: TypeAlias = BasisChange | Choice | ScoredEvaluation

Moment: TypeAlias = tuple[datetime, Iterator[Happening]]
"""A time with the new bases, choices and scores that became known then."""


class Leaderboard:
    """The scores of a track that count at one moment, kept up to date event by event. Ranks are counted when asked."""

    def __init__(self, track_name: str) -> None:
        self._sign = -1 if track_name == MODEL else 1
        self._rows: dict[int, list[ScoredEvaluation]] = {}
        self._chosen: dict[int, int | None] = {}
        self._counting: dict[int, ScoredEvaluation] = {}
        self.in_force: BasisKey | None = None

    def add(self, event: Happening) -> bool:
        """Add a new basis, a choice or a score; return whether it changes what counts.

        Which score of an entry counts is decided as in `formats.query.leaderboards.ranking`.
        """
        if isinstance(event, BasisChange):
            self.in_force = event.key
            return True
        if isinstance(event, Choice):
            self._chosen[event.entry] = event.submission
            before = self._counting.pop(event.entry, None)
            for row in self._rows.get(event.entry, ()):
                self._take(row)
            return self._counting.get(event.entry) is not before
        self._rows.setdefault(event.entry, []).append(event)
        return self._take(event)

    def _take(self, row: ScoredEvaluation) -> bool:
        rival = self._counting.get(row.entry)
        if rival is not None and not counts_before(row, rival, self._chosen.get(row.entry)):
            return False
        self._counting[row.entry] = row
        return True

    def of(self, entry: int) -> ScoredEvaluation | None:
        """Return the score of an entry that counts."""
        return self._counting.get(entry)

    def is_better(self, row: ScoredEvaluation | None, other: ScoredEvaluation | None) -> bool:
        """Return whether a score is on the basis in force, and better than another one; any is better than None."""
        if row is None or row.basis != self.in_force:
            return False
        return other is None or self._sign * row.value < self._sign * other.value

    def better_than(self, other: ScoredEvaluation) -> int:
        """Return the number of entries with a better score on the basis in force."""
        return sum(self.is_better(row, other) for row in self._counting.values())

    def first(self, count: int) -> list[tuple[ScoredEvaluation, int]]:
        """Return the first rows with their ranks, best first."""
        ranked = (row for row in self._counting.values() if row.basis == self.in_force)
        rows = nsmallest(count, ranked, key=lambda row: (self._sign * row.value, row.entry))
        found: list[tuple[ScoredEvaluation, int]] = []
        for number, row in enumerate(rows, start=1):
            tied = found and found[-1][0].value == row.value
            found.append((row, found[-1][1] if tied else number))
        return found


def standings_over_time(
    events: Iterable[Moment], track_name: str, entry: int
) -> Iterator[tuple[datetime, int, int | None]]:
    """Yield when the evaluation of an entry or its rank changed, with both; None for a score on an earlier basis.

    The better scores are counted when the own one or the basis changes, and otherwise follow from one score at a time.
    """
    board = Leaderboard(track_name)
    before: tuple[int, int | None] | None = None
    better: int | None = 0
    for at, together in events:
        for event in together:
            own = board.of(entry)
            rival = board.of(event.entry) if isinstance(event, ScoredEvaluation) else None
            if not board.add(event):
                continue
            if own is None or better is None or not isinstance(event, ScoredEvaluation) or event.entry == entry:
                better = None
            else:
                better += board.is_better(event, own) - board.is_better(rival, own)
        own = board.of(entry)
        if own is None:
            continue
        ranked = own.basis == board.in_force
        if ranked and better is None:
            better = board.better_than(own)
        now = own.evaluation, better + 1 if ranked and better is not None else None
        if now != before:
            before = now
            yield at, *now


def moments(
    rows: Iterable[ScoredEvaluation], changes: Iterable[BasisChange], choices: Iterable[Choice] = ()
) -> Iterator[Moment]:
    """Yield what happened at each moment, oldest first: new bases, then choices, then scores."""
    events: list[Happening] = [*changes, *choices, *rows]
    events.sort(key=_time_of)
    yield from groupby(events, key=_time_of)


def _time_of(event: Happening) -> datetime:
    return event.scored_at if isinstance(event, ScoredEvaluation) else event.at


def basis_changes(track: Track, until: datetime | None) -> list[BasisChange]:
    """Return the bases of the scores of a track, oldest first, in three queries."""
    competition = track.competition
    pools = opposing_pools(track).values_list("made_at", "pk", "number", "track__title")
    versions = competition.rules_versions.values_list("created_at", "pk", "version")
    sets = imported_sets(competition).filter(purpose=SampleSet.Purpose.VALIDATION)
    events = [
        *((at, 0, pk, f"pool {number:,} of {title}") for at, pk, number, title in pools),
        *((at, 1, pk, f"version {version} of the rules") for at, pk, version in versions),
        *((at, 2, pk, "new samples") for at, pk in sets.values_list("imported_at", "pk")),
    ]
    found: list[BasisChange] = []
    known = [0, 0, 0]
    for at, part, pk, what in sorted(events):
        if until is None or at <= until:
            known[part] = max(known[part], pk)
            pool, rules, samples = known
            found.append(BasisChange(at, (pool, rules, samples) if all(known) else None, what))
    return found


@dataclass(frozen=True)
class TrackHistory:
    """The scores of a track up to a time, the bases that they were ranked under, and the choices of the teams."""

    track: Track
    rows: Sequence[ScoredEvaluation]
    changes: Sequence[BasisChange]
    choices: Sequence[Choice] = ()

    def _moments(self) -> Iterator[Moment]:
        return moments(self.rows, self.changes, self.choices)

    @cached_property
    def start(self) -> datetime | None:
        """The time of the first score, None before there is one."""
        return min((row.scored_at for row in self.rows), default=None)

    def best(self) -> list[tuple[datetime, int | None]]:
        """Return when another evaluation became the best one on the track; None while there is none.

        Of equal scores the one that was best before stays.
        """
        board = Leaderboard(self.track.name)
        found: list[tuple[datetime, int | None]] = []
        best: ScoredEvaluation | None = None
        for at, together in self._moments():
            changed = False
            for event in together:
                if board.add(event) and not changed:
                    own = best is not None and isinstance(event, ScoredEvaluation) and event.entry == best.entry
                    changed = own or not isinstance(event, ScoredEvaluation) or board.is_better(event, best)
            if not changed:
                continue
            first = next((row for row, _ in board.first(1)), None)
            stays = best is not None and board.of(best.entry) is best and best.basis == board.in_force
            if stays and not board.is_better(first, best):
                continue
            if first is not best:
                best = first
                found.append((at, first.evaluation if first else None))
        return found

    def at(self, times: Sequence[datetime], count: int) -> list[list[tuple[ScoredEvaluation, int]]]:
        """Return the first rows of the leaderboard with their ranks at each of `times`, which ascend."""
        board = Leaderboard(self.track.name)
        found: list[list[tuple[ScoredEvaluation, int]]] = []
        for at, together in self._moments():
            while len(found) < len(times) and times[len(found)] < at:
                found.append(board.first(count))
            for event in together:
                board.add(event)
        return found + [board.first(count)] * (len(times) - len(found))

    def of(self, entry: Entry, end: datetime) -> list[tuple[datetime, int, int | None]]:
        """Return the evaluation and the rank of a team over time, each with the time since which it was so.

        Ranks are those at the end of each of `PERIODS` up to `end`, and when the evaluation changed.
        """
        start = self.start
        if start is None:
            return []
        period = max((end - start).total_seconds() / PERIODS, 1.0)
        found: list[tuple[datetime, int, int | None]] = []
        for step in standings_over_time(self._moments(), self.track.name, entry.pk):
            alike = len(found) > 1 and found[-1][1] == found[-2][1] == step[1]
            if alike and _number(found[-1][0], start, period) == _number(step[0], start, period):
                found[-1] = step
            else:
                found.append(step)
        return found


def _number(at: datetime, start: datetime, period: float) -> int:
    return int((at - start).total_seconds() / period)


def history_of(track: Track, until: datetime | None) -> TrackHistory:
    """Return the scores and bases of a track up to `until`, None for the present, in five queries."""
    seen = COUNTED if until is None else counted_at(until)
    return TrackHistory(track, scored_rows(track, seen), basis_changes(track, until), choice_changes(track, until))


def scores_of(track: Track, teams: Iterable[str], until: datetime | None) -> list[list[ScoredEvaluation]]:
    """Return for each of the teams with these slugs the scores that counted up to `until`, oldest first.

    In two queries, and a third one where teams chose submissions.
    """
    seen = COUNTED if until is None else counted_at(until)
    rows = sorted(scored_rows(track, seen, teams), key=lambda row: row.evaluation)
    board = Leaderboard(track.name)
    found: dict[int, list[ScoredEvaluation]] = {}
    for _, together in moments(rows, (), choice_changes(track, until)):
        for event in together:
            if board.add(event) and not isinstance(event, BasisChange) and (row := board.of(event.entry)):
                found.setdefault(event.entry, []).append(row)
    return list(found.values())


class Shown(NamedTuple):
    """What a chart says about an evaluation."""

    submission: int
    title: str
    team: str
    value: float
    low: float
    high: float
    not_broken: bool


def shown(evaluations: Iterable[int]) -> dict[int, Shown]:
    """Return what charts say about evaluations, by key, in one query."""
    rows = Evaluation.objects.filter(pk__in=set(evaluations)).order_by()
    columns = ("submission", "submission__title", "submission__repository__entry__team__name", "value", "low", "high")
    return {
        key: Shown(submission, title, team, value, low, high, held is not None and 2 * held > (samples or 0))
        for key, held, samples, submission, title, team, value, low, high in rows.values_list(
            "pk", "held", "samples", *columns
        )
    }
