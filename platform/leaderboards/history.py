"""Leaderboards over time: computed again, in one pass, from the scores that count now and were known then.

As on a past leaderboard, submissions that were withdrawn or disqualified since then are missing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from competitions.models import Entry, SampleSet, Track
from competitions.selectors import imported_sets
from evaluation.domain.text import Text
from leaderboards.evaluation_basis import COUNTED, counted_at, opposing_pools, scored_rows
from leaderboards.models import Evaluation
from leaderboards.ranking import BasisKey, Scored, is_newer

PERIODS = 60
"""The ranks of a team are kept at the end of this many equal periods, and whenever its own score changes."""


class BasisChange(NamedTuple):
    """A new basis of the scores of a track: its key, None while something is missing, and what is new in words."""

    at: datetime
    key: BasisKey | None
    what: Text


class Leaderboard:
    """The ranked rows of a track at one moment, kept up to date score by score."""

    def __init__(self, track_name: str) -> None:
        self._sign = -1 if track_name == Track.Name.MODEL else 1
        self._counting: dict[int, Scored] = {}
        self._sorted: dict[BasisKey, list[tuple[float, int]]] = {}
        self.in_force: BasisKey | None = None

    def add(self, row: Scored) -> None:
        """Add a score. It replaces that of the same entry if it is newer, as in `leaderboards.ranking`."""
        rival = self._counting.get(row.entry)
        if rival is not None:
            if not is_newer(row, rival):
                return
            known = self._sorted[rival.basis]
            del known[bisect_left(known, (self._sign * rival.value, rival.entry))]
        self._counting[row.entry] = row
        insort(self._sorted.setdefault(row.basis, []), (self._sign * row.value, row.entry))

    def of(self, entry: int) -> tuple[Scored, int | None] | None:
        """Return the score of an entry that counts, and its rank: None on another basis than the one in force."""
        row = self._counting.get(entry)
        if row is None:
            return None
        return row, self._rank(row) if row.basis == self.in_force else None

    def first(self, count: int) -> list[tuple[Scored, int]]:
        """Return the first rows with their ranks, best first."""
        ranked = self._sorted.get(self.in_force, []) if self.in_force else []
        rows = [self._counting[entry] for _, entry in ranked[:count]]
        return [(row, self._rank(row)) for row in rows]

    def _rank(self, row: Scored) -> int:
        return bisect_left(self._sorted[row.basis], (self._sign * row.value,)) + 1


def replay(
    rows: Iterable[Scored], changes: Iterable[BasisChange], track_name: str
) -> Iterator[tuple[datetime, Leaderboard]]:
    """Yield the leaderboard after each moment at which it may have changed, oldest first: always the same object."""
    board = Leaderboard(track_name)
    events: list[tuple[datetime, BasisChange | Scored]] = [(change.at, change) for change in changes]
    events += [(row.scored_at, row) for row in rows]
    for at, together in groupby(sorted(events, key=itemgetter(0)), key=itemgetter(0)):
        for _, event in together:
            if isinstance(event, Scored):
                board.add(event)
            else:
                board.in_force = event.key
        yield at, board


def basis_changes(track: Track, until: datetime | None) -> list[BasisChange]:
    """Return the bases of the scores of a track, oldest first, in three queries."""
    competition = track.competition
    pools = opposing_pools(track).values_list("made_at", "pk", "number", "track__title")
    versions = competition.rules_versions.values_list("created_at", "pk", "version")
    sets = imported_sets(competition).filter(purpose=SampleSet.Purpose.VALIDATION)
    events = [
        *(
            (at, 0, pk, Text("pool %(number)s of %(title)s", number=number, title=title))
            for at, pk, number, title in pools
        ),
        *((at, 1, pk, Text("version %(version)s of the rules", version=version)) for at, pk, version in versions),
        *((at, 2, pk, Text("new samples")) for at, pk in sets.values_list("imported_at", "pk")),
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
    """The scores of a track up to a time, and the bases that they were ranked under."""

    track: Track
    rows: Sequence[Scored]
    changes: Sequence[BasisChange]

    @property
    def start(self) -> datetime | None:
        """The time of the first score, None before there is one."""
        return min((row.scored_at for row in self.rows), default=None)

    def replay(self) -> Iterator[tuple[datetime, Leaderboard]]:
        """Yield the leaderboard after each change."""
        return replay(self.rows, self.changes, self.track.name)

    def best(self) -> list[tuple[datetime, int | None]]:
        """Return when another evaluation became the best one on the track; None while there is none.

        Of equal scores the one that was best before stays.
        """
        found: list[tuple[datetime, int | None]] = []
        best: Scored | None = None
        for at, board in self.replay():
            if best is not None and board.of(best.entry) == (best, 1):
                continue
            first = board.first(1)
            now = first[0][0] if first else None
            if now != best:
                best = now
                found.append((at, now.evaluation if now else None))
        return found

    def at(self, times: Sequence[datetime], count: int) -> list[list[tuple[Scored, int]]]:
        """Return the first rows of the leaderboard with their ranks at each of `times`, which ascend."""
        found: list[list[tuple[Scored, int]]] = []
        top: list[tuple[Scored, int]] = []
        for at, board in self.replay():
            while len(found) < len(times) and times[len(found)] < at:
                found.append(top)
            top = board.first(count)
        return found + [top] * (len(times) - len(found))

    def of(self, entry: Entry, end: datetime) -> list[tuple[datetime, int, int | None]]:
        """Return the evaluation and the rank of a team over time, each with the time since which it was so.

        Ranks are those at the end of each of `PERIODS` up to `end`, and when the evaluation changed.
        """
        if self.start is None:
            return []
        period = max((end - self.start).total_seconds() / PERIODS, 1.0)
        found: list[tuple[datetime, int, int | None]] = []
        for at, board in self.replay():
            now = board.of(entry.pk)
            if now is None:
                continue
            step = at, now[0].evaluation, now[1]
            if found and found[-1][1:] == step[1:]:
                continue
            alike = len(found) > 1 and found[-1][1] == found[-2][1] == step[1]
            if alike and _number(found[-1][0], self.start, period) == _number(at, self.start, period):
                found[-1] = step
            else:
                found.append(step)
        return found


def _number(at: datetime, start: datetime, period: float) -> int:
    return int((at - start).total_seconds() / period)


def history_of(track: Track, until: datetime | None) -> TrackHistory:
    """Return the scores and bases of a track up to `until`, None for the present, in four queries."""
    seen = COUNTED if until is None else counted_at(until)
    return TrackHistory(track, scored_rows(track, seen), basis_changes(track, until))


def scores_of(track: Track, teams: Iterable[str], until: datetime | None) -> list[list[Scored]]:
    """Return for each of the teams with these slugs the scores that counted up to `until`, oldest first; one query."""
    seen = COUNTED if until is None else counted_at(until)
    found: dict[int, list[Scored]] = {}
    for row in sorted(scored_rows(track, seen, teams), key=lambda row: (row.scored_at, row.evaluation)):
        before = found.setdefault(row.entry, [])
        if not before or is_newer(row, before[-1]):
            before.append(row)
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
