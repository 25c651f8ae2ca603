"""What the report of a tournament shows: its leaderboards, matrices, curves and pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.charts import match_charts
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.heat_map_colours import HeatColours, Pair, colours_for
from evaluation.charts.histogram import Histogram
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.paper_figures import RankedName, Series, robustness
from evaluation.charts.scales import LogScale, distances_over, shares
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.catalogue import baselines
from evaluation.formats.query.report import match
from evaluation.formats.query.results import MatchResult, Outcome
from evaluation.formats.query.scoring.match_curves import budgets, exact_distances, query_counts, success_distance
from evaluation.formats.query.tournament.leaderboards import Board, boards

CURVES = 5
"""Number of curves that can still be told apart."""

_PAIRS = ("track", "attack", "model", "median_distance", "held", "samples", "mean_queries")


@dataclass(frozen=True)
class HeatMapSide:
    """A row or column of a heat map: a player, and its score, None for models that met no untargeted attack."""

    name: str
    score: float | None


@dataclass(frozen=True)
class TournamentHeatMap:
    """Models from top to bottom and attacks from left to right, best first; `pairs` is by model and attack."""

    track: TrackName
    models: Sequence[HeatMapSide]
    attacks: Sequence[HeatMapSide]
    pairs: Mapping[tuple[str, str], Pair]
    colours: HeatColours


def heat_maps(results: Sequence[MatchResult]) -> list[TournamentHeatMap]:
    """Return the matrix of each attack track, all in the colours of the same distances."""
    sides = {board.track: [HeatMapSide(row.name, row.score.value) for row in board.rows] for board in boards(results)}
    models = sides.get(TrackName.MODEL) or [
        HeatMapSide(name, None) for name in sorted({result.model for result in results})
    ]
    pairs = {(result.track, result.model, result.attack): _pair(result) for result in results}
    colours = colours_for(pairs.values())
    return [
        TournamentHeatMap(
            track,
            models,
            sides[track],
            {(model, attack): pair for (of, model, attack), pair in pairs.items() if of == track},
            colours,
        )
        for track in (TrackName.UNTARGETED, TrackName.TARGETED)
        if track in sides
    ]


def charts(results: Sequence[MatchResult], samples: Sequence[Sample]) -> list[LineChart | Histogram]:
    """Return the curves of the best of each track, and the distances of all samples."""
    distances = budgets(results[0].rules.shape)
    shown = boards(results)
    success = [_success(board, results, distances) for board in shown]
    over_queries = [_against_queries(board, results, samples) for board in shown if board.track is not TrackName.MODEL]
    robust = _robustness(shown, results)
    return [
        *([robust] if robust else []),
        *success,
        *(chart for chart in over_queries if chart is not None),
        match_charts.distribution([row.distance for result in results for row in result.samples]),
    ]


def table(results: Sequence[MatchResult]) -> ChartTable:
    """Return a row for each match."""
    return ChartTable(
        _PAIRS,
        [
            (
                *(str(result.track), result.attack, result.model, pair.median, pair.held, pair.samples),
                round(float(np.mean([row.queries for row in result.samples])), 1),
            )
            for result, pair in ((result, _pair(result)) for result in results)
        ],
    )


def _pair(result: MatchResult) -> Pair:
    rows = result.samples
    held = sum(row.outcome is Outcome.FAILED for row in rows)
    return Pair(float(np.median([row.distance for row in rows])), held, len(rows))


TITLES = {TrackName.MODEL: "Models", TrackName.UNTARGETED: "Untargeted attacks", TrackName.TARGETED: "Targeted attacks"}
_WORDS = {
    TrackName.MODEL: "Share of samples on which any untargeted attack found an adversarial within a distance. A model "
    "is better the further its curve is to the right.",
    TrackName.UNTARGETED: "Share of pairs of model and sample with an adversarial within a distance. An attack is "
    "better the further its curve is to the left.",
}


def _success(board: Board, results: Sequence[MatchResult], distances: Sequence[float]) -> LineChart:
    names = [row.name for row in board.rows[:CURVES]]
    found = {name: _closest(name, board.track, results) for name in names}
    at = exact_distances((value for values in found.values() for value in values), distances)
    columns = {
        name: ([sum(value <= distance for value in values) for distance in at], len(values))
        for name, values in found.items()
    }
    more = f" The best {CURVES} of {len(board.rows)}." if len(board.rows) > CURVES else ""
    return LineChart(
        key=f"success-{board.track}",
        title=f"{TITLES[board.track]}: success against distance",
        description=_WORDS.get(board.track, _WORDS[TrackName.UNTARGETED]) + more,
        table=match_charts.success_table(columns, at),
        lines=[Curve(name, number) for number, name in enumerate(names, start=1)],
        x=LogScale(distances[0], distances[-1]),
        y=shares(),
        x_name="distance",
        y_name="share",
        steps=True,
    )


def _robustness(shown: Sequence[Board], results: Sequence[MatchResult]) -> LineChart | None:
    """Return the median distance of each model against the bundled attacks, and against the best ones.

    None where there is no untargeted attack.
    """
    by_track = {board.track: board for board in shown}
    if TrackName.UNTARGETED not in by_track:
        return None
    bundled = {each.name for each in baselines()}
    attacks = [row.name for row in by_track[TrackName.UNTARGETED].rows]
    models = by_track[TrackName.MODEL].rows
    sets = {
        "bundled attacks": [name for name in attacks if name in bundled],
        f"best {CURVES} attacks": attacks[:CURVES],
    }
    return robustness(
        "Robustness of the models",
        "Median distance over samples of the closest adversarial of a set of untargeted attacks, by the rank of the "
        "model.",
        [RankedName(row.rank, row.name) for row in models],
        [
            Series(name, [_median(row.name, chosen, results) for row in models])
            for name, chosen in sets.items()
            if chosen
        ],
        key="robustness",
    )


def _median(model: str, attacks: Collection[str], results: Sequence[MatchResult]) -> float:
    """Return the score that a model has if only these attacks count."""
    own = (each for each in results if each.track == TrackName.UNTARGETED and each.model == model)
    distances = [[row.distance for row in each.samples] for each in own if each.attack in attacks]
    return float(np.median(np.min(distances, axis=0)))


def _against_queries(board: Board, results: Sequence[MatchResult], samples: Sequence[Sample]) -> LineChart | None:
    """Return how the distances of attacks fell with their queries, None where not one has them recorded."""
    counts = query_counts(results[0].rules.query_budget)
    medians: dict[str, list[float]] = {}
    for row in board.rows[:CURVES]:
        own = (result for result in results if result.track == board.track and result.attack == row.name)
        recorded = [match.by_query(result, samples) for result in own]
        complete = [each.closest for each in recorded if each is not None]
        if len(complete) == len(recorded):
            medians[row.name] = [float(value) for value in np.median(np.concatenate(complete), axis=0)]
    if not medians:
        return None
    return LineChart(
        key=f"{match_charts.QUERIES}-{board.track}",
        title=f"{TITLES[board.track]}: distance against queries",
        description="Median over pairs of model and sample of the closest adversarial after a number of queries; the "
        "worst case before the first one.",
        table=ChartTable(("queries", *medians), list(zip(counts, *medians.values(), strict=True))),
        lines=[Curve(name, number) for number, name in enumerate(medians, start=1)],
        x=LogScale(1.0, float(max(counts[-1], 2))),
        y=distances_over([value for values in medians.values() for value in values]),
        x_name="queries",
        y_name="distance",
    )


def _closest(name: str, track: TrackName, results: Sequence[MatchResult]) -> Sequence[float]:
    """Return the distances that the curve of a player counts.

    For a model those of its samples, each with the closest adversarial of the untargeted attacks; for an attack those
    of all pairs of model and sample. So each is what the score is the median of.
    """
    if track is not TrackName.MODEL:
        own = (result for result in results if result.track == track and result.attack == name)
        return [success_distance(row.outcome, row.distance) for result in own for row in result.samples]
    best: dict[int, float] = {}
    for result in results:
        if result.track == TrackName.UNTARGETED and result.model == name:
            for row in result.samples:
                distance = success_distance(row.outcome, row.distance)
                best[row.sample] = min(best.get(row.sample, np.inf), distance)
    return list(best.values())
