"""Adapter: numbers and curves of a match, from its sample results and the traces of its pieces."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from django.db.models import Min, QuerySet, Value

from competitions.models import RulesVersion
from competitions.sample_store import samples_of
from core import object_store, optional_cache
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome, Trace
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.scoring import match_curves
from evaluation.formats.query.scoring.match_curves import (
    Answered,
    ByQuery,
    answered,
    budgets,
    exact_distances,
    query_counts,
    success_distance,
    successes,
)
from evaluation.formats.query.scoring.scored_distances import scored_distance
from formats.query.matches.models import Match, Piece, SampleResult

__all__ = [
    "ByQuery",
    "MatchSampleRow",
    "Share",
    "Summary",
    "by_query",
    "distances_between",
    "distances_of",
    "distances_under",
    "rows_of",
    "rows_of_samples",
    "successes_over",
    "summary",
    "within",
]

_KEPT_SECONDS = 86_400
_COLUMNS = ("sample", "charged", "query", "label", "distance")


class MatchSampleRow(NamedTuple):
    """A sample of a match; `distance` is the one that counts."""

    sample: int
    outcome: str
    distance: float
    queries: int
    seconds: float
    reason: str
    found_label: int | None


@dataclass(frozen=True)
class Summary:
    """Numbers of a match: its samples by outcome and by reason, and what is typical for one sample."""

    samples: int
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    median: float
    mean_queries: float
    median_seconds: float

    @property
    def held(self) -> int:
        """Number of samples without an adversarial."""
        return self.outcomes.get(Outcome.FAILED, 0)


def rows_of(match: Match, samples: int | None = None) -> list[MatchSampleRow]:
    """Return the rows of a match in the order of its samples, or of the first `samples`; one query."""
    results = match.sample_results.order_by("sample")
    if samples is not None:
        results = results.filter(sample__lt=samples)
    return [row for _, row in _rows(results)]


def rows_of_samples(matches: Collection[int], samples: Collection[int]) -> list[tuple[int, MatchSampleRow]]:
    """Return the rows of some samples in several matches, each with the key of its match; one query."""
    return _rows(SampleResult.objects.filter(match__in=matches, sample__in=samples))


def _rows(results: QuerySet[SampleResult]) -> list[tuple[int, MatchSampleRow]]:
    columns = ("match", "sample", "outcome", "distance", "worst_case", "queries", "seconds", "reason", "found_label")
    return [
        (match, MatchSampleRow(sample, outcome, scored_distance(Outcome(outcome), distance, worst), *others))
        for match, sample, outcome, distance, worst, *others in results.values_list(*columns)
    ]


def summary(rows: Sequence[MatchSampleRow]) -> Summary | None:
    """Return the numbers of some rows, None for none."""
    if not rows:
        return None
    return Summary(
        samples=len(rows),
        outcomes=dict(Counter(row.outcome for row in rows)),
        reasons=dict(Counter(row.reason for row in rows if row.reason)),
        median=median(row.distance for row in rows),
        mean_queries=fmean(row.queries for row in rows),
        median_seconds=median(row.seconds for row in rows),
    )


def distances_of(match: Match) -> tuple[float, ...]:
    """Return the distances at which curves of the match's competition are drawn."""
    return distances_under(match.rules)


def distances_under(rules: RulesVersion) -> tuple[float, ...]:
    """Return the distances at which curves under a version of the rules are drawn."""
    return budgets(rules.rules_as(QueryRules).shape)


def within(rows: Sequence[MatchSampleRow], distances: Sequence[float]) -> tuple[int, ...]:
    """Return for each distance the number of samples with a success within it."""
    return successes([row.outcome for row in rows], [row.distance for row in rows], distances)


def distances_between(rows: Iterable[MatchSampleRow], distances: Sequence[float], *, exact: bool) -> tuple[float, ...]:
    """Return the distances of a curve over `rows`: all at which it changes if it may be `exact`, or `distances`."""
    if not exact:
        return tuple(distances)
    return exact_distances((success_distance(row.outcome, row.distance) for row in rows), distances)


def successes_over(
    groups: Mapping[int, Collection[int]], distances: Sequence[float], *, of_models: bool, samples: int | None = None
) -> dict[int, Share]:
    """Return for each group of matches the successes within each distance, over all of them; one query.

    `samples`: only over the first ones. For a model over its samples, each with the closest adversarial of all attacks;
    for an attack over pairs of model and sample. So each is what the score is the median of.
    """
    results = SampleResult.objects.order_by()
    if samples is not None:
        results = results.filter(sample__lt=samples)
    counted = ("sample",) if of_models else ("sample", "match")
    # the database finds the closest of each outcome, since a round has thousands of rows
    parts = [
        results.filter(match__in=matches)
        .values(*counted, "outcome")
        .annotate(group=Value(group), closest=Min("distance"))
        .values_list("group", "outcome", "closest", *counted)
        for group, matches in groups.items()
    ]
    best: dict[int, dict[tuple[int, ...], float]] = {group: {} for group in groups}
    for group, outcome, distance, *key in parts[0].union(*parts[1:], all=True):
        known = best[group].get(tuple(key), inf)
        best[group][tuple(key)] = min(known, success_distance(outcome, distance))
    return {
        group: Share(np.searchsorted(np.sort([*found.values()]), distances, side="right").tolist(), len(found))
        for group, found in best.items()
    }


@dataclass(frozen=True)
class Share:
    """Numbers of successes within each distance, of `total`."""

    counts: Sequence[int]
    total: int


def by_query(match: Match, rows: Sequence[MatchSampleRow]) -> ByQuery:
    """Return how the distances of `rows` fell with the queries, from the traces of a played match; cached.

    The referee's verdict comes after the last query, so an adversarial that it did not confirm is still in the curve.
    """
    counts = query_counts(match.rules.rules_as(QueryRules).query_budget)
    key = f"match-successes-by-query:{match.pk}:{len(rows)}:{match.finished_at and match.finished_at.timestamp()}"
    kept = optional_cache.get(key)
    if kept is None:
        computed = match_curves.by_query(_answered(match, rows), [row.outcome for row in rows], counts)
        kept = [computed.closest.tolist(), computed.found.tolist()]
        optional_cache.put(key, kept, _KEPT_SECONDS)
    closest, found = kept
    return ByQuery(counts, np.array(closest), np.array(found, np.bool_))


def _answered(match: Match, rows: Sequence[MatchSampleRow]) -> dict[int, Answered]:
    worst = dict(match.sample_results.filter(sample__lte=rows[-1].sample).values_list("sample", "worst_case"))
    samples = samples_of(match.sample_set)
    targeted = match.attack.track_name == TrackName.TARGETED
    result: dict[int, Answered] = {}
    played = match.pieces.filter(state=Piece.State.PLAYED, first__lte=rows[-1].sample).order_by("first")
    for first, count, artefact in played.values_list("first", "count", "artefact"):
        with np.load(io.BytesIO(object_store.get(artefact)), allow_pickle=False) as columns:
            trace = Trace(*(columns[f"trace_{name}"] for name in _COLUMNS))
        own = {number: worst[number] for number in range(first, first + count) if number in worst}
        result |= answered(trace, samples, own, targeted=targeted)
    return result
