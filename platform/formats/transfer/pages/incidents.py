"""The queue of runs, and the runs that platform errors hold up."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Max, QuerySet
from django.utils.translation import gettext, ngettext

from competitions.models import Competition
from formats.transfer import NAME
from formats.transfer.tournaments.boards import tournaments_in_force
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, RepeatRun, Run, Tournament
from formats.transfer.tournaments.selectors import KINDS, run_queue, stuck_runs
from pages.formats import WorkQueue
from pages.status.incidents import REPLAY, RETRY, Incident, RowsToFix, Urgency


def queue() -> WorkQueue:
    """Return the runs that are not played."""
    found = run_queue()
    count = found.waiting + found.claimed
    return WorkQueue(
        title=gettext("Runs waiting"),
        claimed_title=gettext("Runs being played"),
        waiting=found.waiting,
        claimed=found.claimed,
        oldest_since=found.oldest_since,
        words=ngettext("%(count)s run waits in the queue.", "%(count)s runs wait in the queue.", count)
        % {"count": intcomma(count)},
    )


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
            gettext("Some runs failed"),
            ngettext(
                "Platform errors ended %(count)s run. The scores that need it are late until an organiser replays "
                "it. No team loses a slot.",
                "Platform errors ended %(count)s runs. The scores that need them are late until an organiser "
                "replays them. No team loses a slot.",
                count,
            )
            % {"count": intcomma(count)},
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
    ]


def _failed_runs(kind: type[Run]) -> QuerySet[Any]:
    """Return the failed runs of the leaderboards in force and of rounds that have not ended."""
    competitions = Competition.objects.filter(format=NAME)
    rounds = Tournament.objects.filter(fixed=True, ended_at=None)
    keys = [each.pk for each in (*tournaments_in_force(competitions).values(), *rounds)]
    tournament = "attack_run__tournament" if kind is DefenceRun else "tournament"
    return kind._default_manager.filter(**{f"{tournament}__in": keys}, state=Run.State.FAILED)
