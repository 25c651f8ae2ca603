"""Report of the transfer format: scores, matrices, success by epsilon, errors by class, and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields

from evaluation.charts.chart_table import ChartTable
from evaluation.charts.heat_map_colours import share_colour, share_legend
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.paper_figures import RankedScore, scores_by_rank
from evaluation.charts.scales import LinearScale, shares
from evaluation.domain.samples import class_name
from evaluation.formats.transfer.catalogue import transfer_baselines
from evaluation.formats.transfer.report import gallery
from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.runner.match_problems import problems
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.scoring.scores import TransferStanding
from evaluation.formats.transfer.scoring.success_and_error_tables import (
    accuracy,
    class_errors,
    separated,
    share_text,
    success_by_epsilon,
)
from evaluation.report.page import Context, render

_PACKAGE = "evaluation.formats.transfer.report"
TITLES = {
    TransferTrack.DEFENCE: "Defences",
    TransferTrack.ATTACK: "Attacks",
    TransferTrack.TARGETED_ATTACK: "Targeted attacks",
}
CURVES = 5
"""Number of curves that can still be told apart."""
CLASSES = 20
"""Classes in the table of errors."""


def of_transfer(result: TransferResult, context: Context) -> str:
    """Return the report of a match or a tournament."""
    errors = class_errors(result.given_labels())
    return render(
        _PACKAGE,
        "transfer.html",
        context,
        result.rules.as_dict(),
        result=result,
        boards={track: rows for track in TITLES if (rows := result.board(track))},
        titles=TITLES,
        matrices=result.matrices(),
        accuracy=accuracy,
        share_text=share_text,
        separated=separated,
        colour=share_colour,
        legend=share_legend(),
        charts=charts(result),
        errors=errors[:CLASSES],
        classes=len(errors),
        name_of=lambda label: class_name(context.class_names, label),
        problems=problems(result),
        items=gallery.of_transfer(result, context.class_names),
        table=table(result),
    )


def charts(result: TransferResult) -> list[LineChart]:
    """Return all scores by rank, and the success of the best attacks of each track by epsilon."""
    ranked = [_by_rank(track, result.board(track)) for track in TITLES]
    return [*(chart for chart in ranked if chart), *_by_epsilon(result)]


def _by_rank(track: TransferTrack, rows: Sequence[TransferStanding]) -> LineChart | None:
    """Return the scores of a track with a line for each bundled submission, None for one alone."""
    bundled = {each.name for each in transfer_baselines()}
    scores = [(row.name, row.score) for row in rows if row.score is not None]
    own = [(name, score) for name, score in scores if name not in bundled] or scores
    if len(scores) < 2:
        return None
    return scores_by_rank(
        f"{TITLES[track]}: all scores",
        [RankedScore(1 + sum(other > score for _, other in own), name, score) for name, score in own],
        {name: score for name, score in scores if (name, score) not in own},
        shares(),
        key=f"scores-{track}",
    )


def _by_epsilon(result: TransferResult) -> list[LineChart]:
    """Return the success of the best attacks of each track by epsilon, none with a single epsilon."""
    if len(result.epsilons) < 2:
        return []
    found = success_by_epsilon(result.pairs_by_epsilon())
    boards = {track: result.board(track) for track in TITLES if track.is_attack}
    return [
        _success(track, {row.name: [share for _, share in found[row.name]] for row in rows[:CURVES]}, result.epsilons)
        for track, rows in boards.items()
        if rows
    ]


def table(result: TransferResult) -> ChartTable:
    """Return a row for each pair at each epsilon."""
    rows = [(epsilon, *astuple(pair)) for epsilon, pairs in result.pairs_by_epsilon().items() for pair in pairs]
    return ChartTable(
        ("epsilon", *(field.name for field in fields(PairCounts))),
        [tuple(str(cell).lower() if isinstance(cell, bool) else cell for cell in row) for row in rows],
    )


def _success(track: TransferTrack, columns: dict[str, list[float | None]], epsilons: Sequence[int]) -> LineChart:
    goal = "the target class" if track is TransferTrack.TARGETED_ATTACK else "a wrong class"
    return LineChart(
        key=f"success-{track}",
        title=f"{TITLES[track]}: success by epsilon",
        description=f"Share of images that all defences together gave {goal}. Each epsilon has images of its own, so a "
        f"curve can fall. At most the best {CURVES}.",
        table=ChartTable(
            ("epsilon", *columns),
            [
                (epsilon, *(None if share is None else round(share, 4) for share in values))
                for epsilon, *values in zip(epsilons, *columns.values(), strict=True)
            ],
        ),
        lines=[Curve(name, number) for number, name in enumerate(columns, start=1)],
        x=LinearScale(0.0, float(epsilons[-1]), [(float(epsilon), str(epsilon)) for epsilon in epsilons]),
        y=shares(),
        x_name="epsilon",
        y_name="share of images",
        breaks=True,
    )
