"""What the organiser's dashboard of a round of the curves format shows of its benchmarks and places."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, Q

from core.administration.link_columns import link_to
from formats.curves.models import Benchmark
from formats.curves.threat_model_boards import CurvesBoard
from rounds.models import Round, RoundEntry
from rounds.publishing.preview import Moved, Preview, moved, places_of
from rounds.running.dashboard_tables import (
    DashboardPart,
    DashboardTable,
    linked_title,
    part_without_stages,
    prizes,
    replay_button,
    track_titles,
)
from rounds.selectors import standings

BENCHMARKS = "A benchmark is one attack of the rules against one model, on all samples of the round."
_RANKING = CurvesBoard.columns[0]
_COLUMNS = ("place", "team", "title", _RANKING.title.lower(), "prizes", "")


def preview(round_: Round) -> list[Preview]:
    """Return the places of each track next to the ranks on the leaderboard. There are no pools."""
    ranks = {
        row.scored.submission.repository_id: row.rank
        for track in round_.competition.tracks.all()
        for row in CurvesBoard().rows(track)
    }
    return places_of(round_, lambda entry: _moved(entry, ranks))


def _moved(entry: RoundEntry, ranks: dict[int, int]) -> Moved:
    why = "" if entry.value is None else f"{_RANKING.title.lower()}: {_RANKING.shown(entry.value)}"
    return moved(entry, why, ranks.get(entry.submission.repository_id))


def dashboard_part(round_: Round, views: Sequence[Preview]) -> DashboardPart:
    """Return what the dashboard shows of a round, which has no stages."""
    rows = round_.benchmarks.all()
    count = rows.aggregate(played=Count("pk", filter=Q(state=Benchmark.State.PLAYED)), all=Count("pk"))
    failed = rows.filter(state=Benchmark.State.FAILED).select_related("submission")
    return part_without_stages(
        round_,
        views,
        item="benchmark",
        about=BENCHMARKS,
        counts=(count["played"], count["all"]),
        faults=[(link_to(each), each.fault, replay_button("curves_benchmark_replay", each.pk)) for each in failed],
        standing_tables=_standings,
    )


def _standings(round_: Round) -> list[DashboardTable]:
    titles = track_titles(round_)
    return [
        DashboardTable(
            titles[track_name],
            _COLUMNS,
            [
                (
                    "" if row.place is None else row.place,
                    row.team,
                    linked_title(row),
                    "" if row.value is None else _RANKING.shown(row.value),
                    prizes(row),
                    row.gone,
                )
                for row in rows
            ],
        )
        for track_name, rows in standings(round_).items()
        if rows
    ]
