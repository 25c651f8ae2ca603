"""What the organiser's dashboard of a round of the transfer format shows of its runs and scores."""

from __future__ import annotations

from collections.abc import Sequence

from core.administration.link_columns import link_to
from formats.transfer.rounds.round_advancement import tournament_of
from formats.transfer.rounds.standings import TransferPlace, standings
from formats.transfer.tournaments.round_tournaments import failed_runs, run_counts
from rounds.models import Round
from rounds.publishing.preview import Preview
from rounds.running.dashboard_tables import (
    DashboardPart,
    DashboardTable,
    linked_title,
    part_without_stages,
    prizes,
    ranks,
    replay_button,
    track_titles,
)

RUNS = "A run is an attack on one batch of images, or a defence on what an attack made of it."
_COLUMNS = (
    *("place", "ranks", "team", "title", "score", "95 % interval"),
    *("worst", "raw", "coverage", "opponents", "prizes", ""),
)


def dashboard_part(round_: Round, views: Sequence[Preview]) -> DashboardPart:
    """Return what the dashboard shows of a round, which has no stages."""
    tournament = tournament_of(round_)
    failed = failed_runs(tournament) if tournament else []
    return part_without_stages(
        round_,
        views,
        item="run",
        about=RUNS,
        counts=run_counts(tournament) if tournament else (0, 0),
        faults=[
            (link_to(run), run.fault, replay_button(f"tournaments_{run._meta.model_name}_replay", run.pk))
            for run in failed
        ],
        standing_tables=_standings,
    )


def _standings(round_: Round) -> list[DashboardTable]:
    """Return the standings of a round whose scores are shares of images."""
    titles = track_titles(round_)
    return [
        DashboardTable(titles[track_name], _COLUMNS, [_standing(row) for row in rows])
        for track_name, rows in standings(round_).items()
        if rows
    ]


def _standing(row: TransferPlace) -> tuple[object, ...]:
    score, worst, coverage = ("" if each is None else f"{each:.1%}" for each in (row.of.value, row.worst, row.coverage))
    return (
        "" if row.of.place is None else row.of.place,
        ranks(row.of),
        row.of.team,
        linked_title(row.of),
        score,
        "" if row.of.low is None or row.of.high is None else f"{row.of.low:.1%} to {row.of.high:.1%}",
        worst,
        "" if row.raw is None else row.raw,
        coverage,
        "" if row.of.opponents is None else row.of.opponents,
        prizes(row.of),
        row.of.gone,
    )
