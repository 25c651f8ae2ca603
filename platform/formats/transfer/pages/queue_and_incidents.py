"""The queue of runs, and the runs that platform errors hold up."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Max, QuerySet

from competitions.models import Competition
from formats.transfer import NAME
from formats.transfer.tournaments.boards import tournaments_in_force
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, RepeatRun, Run, Tournament
from formats.transfer.tournaments.selectors import KINDS, run_queue, stuck_runs
from pages.formats import WorkQueue
from pages.status.incident_types import DOUBTFUL, REPLAY, RETRY, Incident, RowsToFix, Urgency
from workers.selectors import of_drained_hosts


def queue() -> WorkQueue:
    """Return the runs that are not played."""
    found = run_queue()
    return WorkQueue("Runs", "run", found.waiting, found.claimed, found.oldest_since)


def stuck_work() -> int:
    """Return how many runs wait after faults."""
    return sum(stuck_runs(kind).count() for kind in KINDS)


def last_score_at() -> datetime | None:
    """Return when a player last began to count on a leaderboard."""
    newest: datetime | None = Entrant.objects.filter(tournament__fixed=False).aggregate(at=Max("entered_at"))["at"]
    return newest


def incidents(live: Collection[str]) -> list[Incident]:
    """Return what delays results."""
    count = sum(_failed_runs(kind).count() for kind in KINDS)
    if not count:
        return []
    return [
        Incident(
            Urgency.FAILED,
            "Some runs failed",
            (
                (
                    f"Platform errors ended {intcomma(count)} run. The scores that need it are late until an "
                    "organiser replays it. No team loses a slot."
                )
                if count == 1
                else (
                    f"Platform errors ended {intcomma(count)} runs. The scores that need them are late until "
                    "an organiser replays them. No team loses a slot."
                )
            ),
        )
    ]


def rows_to_fix() -> list[RowsToFix]:
    """Return the runs that need a person."""
    return [
        RowsToFix(Urgency.FAILED, "Failed runs of attacks", _failed_runs(AttackRun), REPLAY),
        RowsToFix(Urgency.FAILED, "Failed runs of defences", _failed_runs(DefenceRun), REPLAY),
        RowsToFix(Urgency.FAILED, "Failed repeated runs", _failed_runs(RepeatRun), REPLAY),
        RowsToFix(Urgency.WAITS, "Runs of attacks that wait after faults", stuck_runs(AttackRun), RETRY),
        RowsToFix(Urgency.WAITS, "Runs of defences that wait after faults", stuck_runs(DefenceRun), RETRY),
        RowsToFix(Urgency.WAITS, "Repeated runs that wait after faults", stuck_runs(RepeatRun), RETRY),
        RowsToFix(Urgency.UNSCORED, "Runs of attacks on drained hosts", _doubtful_runs(AttackRun), DOUBTFUL),
        RowsToFix(Urgency.UNSCORED, "Runs of defences on drained hosts", _doubtful_runs(DefenceRun), DOUBTFUL),
    ]


def _doubtful_runs(kind: type[Run]) -> QuerySet[Any]:
    """Return the runs that hosts claimed before they were drained, and played, of the same leaderboards and rounds."""
    return _in_force(kind).filter(of_drained_hosts("worker"), state=Run.State.PLAYED)


def _failed_runs(kind: type[Run]) -> QuerySet[Any]:
    return _in_force(kind).filter(state=Run.State.FAILED)


def _in_force(kind: type[Run]) -> QuerySet[Any]:
    """Return the runs of the leaderboards in force and of rounds that have not ended."""
    competitions = Competition.objects.filter(format=NAME)
    rounds = Tournament.objects.filter(fixed=True, ended_at=None)
    keys = [each.pk for each in (*tournaments_in_force(competitions).values(), *rounds)]
    tournament = "attack_run__tournament" if kind is DefenceRun else "tournament"
    return kind._default_manager.filter(**{f"{tournament}__in": keys})
