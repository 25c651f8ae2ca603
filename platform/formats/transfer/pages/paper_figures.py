"""The figures of the competition of 2017 (Kurakin et al. 2018, section 4), for any round and over the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import HttpRequest
from django.urls import reverse

from competitions.models import Track
from core import rounding
from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.line_chart import LineChart
from evaluation.charts.paper_figures import RankedScore, Series, by_round, scores_by_rank
from evaluation.charts.scales import shares, shares_over
from formats.transfer.pages.board_csv import share
from formats.transfer.rounds.standings import BaselinePlace, TransferPlace, baselines, standings
from formats.transfer.tournaments.models import Entrant
from formats.transfer.tracks import ATTACK, DEFENCE, TARGETED_ATTACK
from pages.formats import Content, RoundFigures
from pages.round.figure_files import figure_address
from rounds.best_of_rounds import BestEntry, PublishedRound, published_rounds
from rounds.models import Round

PROGRESS, BEST = "progress", "best"
"""Keys of the charts over rounds."""

_COLOURS: Mapping[str, int] = {DEFENCE: 1, ATTACK: 2, TARGETED_ATTACK: 4}
"""Numbers of the curves whose colours are nearest to those of the tracks."""

_COLUMNS = ("place", "kind", "name", "title", "score", "raw score", "worst score", "coverage", "median seconds")


def table_name(track: Track) -> str:
    """Return the name of the table of a track: tables 1 to 3 of the paper, with all rows."""
    return f"standings-{track.name}"


def round_figures(shown: Round, tracks: Sequence[Track]) -> RoundFigures:
    """Return all scores by place with the baselines, and the standings with them, of a published round."""
    found = standings(shown)
    return figures_of(shown, tracks, found, baselines(shown, found))


def figures_of(
    shown: Round,
    tracks: Sequence[Track],
    found: Mapping[str, Sequence[TransferPlace]],
    own: Mapping[str, Sequence[BaselinePlace]],
) -> RoundFigures:
    """Return the figures of a published round with the standings `found` and the places of its `own` baselines."""
    charts = [_by_rank(shown, track, found[track.name], own[track.name]) for track in tracks]
    return RoundFigures(
        charts=[chart for chart in charts if chart],
        tables={table_name(track): _table(found[track.name], own[track.name]) for track in tracks},
    )


def _by_rank(
    shown: Round, track: Track, rows: Sequence[TransferPlace], own: Sequence[BaselinePlace]
) -> LineChart | None:
    key = f"scores-{track.name}"
    return scores_by_rank(
        f"{track.title}: all scores",
        [
            RankedScore(row.of.place, row.of.team, rounding.share(row.of.value))
            for row in rows
            if row.of.place is not None and row.of.value is not None
        ],
        {each.name: rounding.share(each.score) for each in own},
        shares(),
        key=key,
        csv=figure_address(shown, key),
        svg=figure_address(shown, key, svg=True),
    )


def _table(rows: Sequence[TransferPlace], own: Sequence[BaselinePlace]) -> ChartTable:
    teams: list[tuple[Cell, ...]] = [
        (
            *(row.of.place, "team", row.of.team, row.of.title, share(row.of.value), row.raw),
            *(share(row.worst), share(row.coverage), _seconds(row.median_seconds)),
        )
        for row in rows
    ]
    others: list[tuple[Cell, ...]] = [
        (
            *(each.place, "baseline", each.name, "", share(each.score), each.raw),
            *(share(each.worst), share(each.coverage), _seconds(each.median_seconds)),
        )
        for each in own
    ]
    # teams first, so that the sort leaves them before a baseline with the same place
    return ChartTable(_COLUMNS, sorted([*teams, *others], key=lambda row: (row[0] is None, row[0] or 0)))


def _seconds(value: float | None) -> float | None:
    return None if value is None else rounding.seconds(value)


def history_content(request: HttpRequest, track: Track) -> Content:
    """Return how the best scores rose over the published rounds."""
    return Content(template="formats/transfer/history.html", context={"charts": _history(track)})


def history_chart(track: Track, name: str) -> LineChart | None:
    """Return one of these charts, None for an unknown name and before the first published round."""
    return next((chart for chart in _history(track) if chart.key == name), None)


def _history(track: Track) -> list[LineChart]:
    competition = track.competition
    rounds = published_rounds(competition)
    tracks = list(competition.tracks.all())
    best = {each.name: [round_.best.get(each.name) for round_ in rounds] for each in tracks}
    baseline = _best_baselines(rounds)
    numbered = [(each.number, each.title) for each in rounds]
    numbers = [_COLOURS[each.name] for each in tracks]
    gains = [
        Series(
            each.title,
            [
                _difference(first, baseline.get((round_.key, each.name)))
                for round_, first in zip(rounds, best[each.name], strict=True)
            ],
        )
        for each in tracks
    ]
    known = [value for each in gains for value in each.values if value is not None]
    charts = (
        by_round(
            "Progress over the rounds",
            "The best score of each track, less that of the best baseline of the same round. Above 0 a team was better "
            "than every baseline. Each round has images and opponents of its own.",
            numbered,
            gains,
            key=PROGRESS,
            y_name="score less best baseline",
            y=shares_over(min(known, default=0.0), max(known, default=0.0)),
            numbers=numbers,
            listed=[
                Series(
                    f"best baseline of {each.title}",
                    [share(baseline.get((round_.key, each.name))) for round_ in rounds],
                )
                for each in tracks
            ],
            csv=_address(track, PROGRESS),
            svg=_address(track, PROGRESS, svg=True),
        ),
        by_round(
            "The best attacks and defences by round",
            "The best score of each track. Scores of different rounds are not comparable: both sides improve, and each "
            "round has images of its own.",
            numbered,
            [
                Series(each.title, [share(first.value) if first else None for first in best[each.name]])
                for each in tracks
            ],
            key=BEST,
            y_name="score",
            y=shares(),
            numbers=numbers,
            listed=[
                Series(f"first of {each.title}", [first.team if first else None for first in best[each.name]])
                for each in tracks
            ],
            csv=_address(track, BEST),
            svg=_address(track, BEST, svg=True),
        ),
    )
    return [chart for chart in charts if chart]


def _address(track: Track, name: str, *, svg: bool = False) -> str:
    page = "history_drawing" if svg else "history_table"
    return reverse(f"pages:{page}", args=[track.competition.slug, track.name, name])


def _difference(first: BestEntry | None, baseline: float | None) -> float | None:
    return None if first is None or baseline is None else rounding.share(first.value - baseline)


def _best_baselines(rounds: Sequence[PublishedRound]) -> dict[tuple[int, str], float]:
    """Return the best score of a baseline by round and track, in one query."""
    keys = [each.key for each in rounds]
    entrants = Entrant.objects.filter(tournament__round__in=keys, submission=None, score__isnull=False)
    rows = entrants.order_by("score").values_list("tournament__round", "track__name", "score")
    return {(round_, track): score for round_, track, score in rows if score is not None}
