"""Rank intervals of a leaderboard, from the stored resamples of its scores."""

from __future__ import annotations

from collections.abc import Mapping

from formats.query.leaderboards.models import Resamples
from formats.query.leaderboards.ranking import COMPARED, BoardPlace
from formats.query.leaderboards.scoring_adapter import RankedEvaluation, rank_columns


def with_intervals(
    board: Mapping[int, BoardPlace], standing: Mapping[int, BoardPlace], track_name: str
) -> dict[int, BoardPlace]:
    """Return the board with the rank intervals of its first `COMPARED` ranked rows.

    Intervals of the stored rows `standing` are reused where they compare the same scores, selected from as many. There
    are none if the resamples of one of them are missing: older scores have none until `leaderboards verify --repair`.
    """
    ranked = sorted((row for row in board.values() if row.rank is not None), key=lambda row: (row.place, row.entry))
    compared = {row.evaluation: row for row in ranked[:COMPARED]}
    if Resamples.objects.filter(evaluation__in=compared).count() < len(compared):
        compared = {}
    more = len(compared) < len(ranked)
    known = {row.evaluation: row for row in standing.values() if row.rank_low is not None}
    selected = {evaluation: row.tried for evaluation, row in compared.items()}
    # the last compared row has an open interval if there are more rows; otherwise no row has one
    alike = {evaluation: row.tried for evaluation, row in known.items()} == selected
    if not alike or any(row.rank_high is None for row in known.values()) != more:
        known = _derived(compared, track_name, more=more)
    return {
        entry: row._replace(rank_low=same.rank_low, rank_high=same.rank_high, separated=same.separated)
        if (same := known.get(row.evaluation))
        else row
        for entry, row in board.items()
    }


def _derived(compared: Mapping[int, BoardPlace], track_name: str, *, more: bool) -> dict[int, BoardPlace]:
    if not compared:
        return {}
    rows = Resamples.objects.filter(evaluation__in=compared).values_list("evaluation", "evaluation__value", "medians")
    scores = [
        RankedEvaluation(evaluation, compared[evaluation].place, value, bytes(medians), compared[evaluation].tried or 1)
        for evaluation, value, medians in rows
        if value is not None
    ]
    found = rank_columns(scores, track_name)
    last = len(compared)
    return {
        evaluation: row._replace(
            rank_low=found[evaluation].low,
            rank_high=None if more and found[evaluation].high == last else found[evaluation].high,
            separated=found[evaluation].separated,
        )
        for evaluation, row in compared.items()
    }
