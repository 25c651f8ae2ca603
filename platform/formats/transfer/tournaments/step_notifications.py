"""Notifications of the steps that follow from commits: of each tournament, at most one waits to be received."""

from __future__ import annotations

from django.db.models import Count, Q

from core import worker_notifications
from formats.transfer.tournaments.models import AttackRun, DefenceRun, PairTotal, Run, Tournament
from formats.transfer.tournaments.selectors import AnyRun


def announce(run: AnyRun) -> None:
    """Notify a worker of the step that may follow from a committed `run`. After its transaction."""
    if not _may_follow(run):
        return
    # committed before `begin`, what the step reads includes the run; after it, another step is notified
    if Tournament.objects.filter(pk=run.tournament.pk, step_notified=False).update(step_notified=True):
        worker_notifications.notify("tournaments.follow_up", tournament=run.tournament.pk)


def begin(tournament: Tournament) -> None:
    """Let commits from now on notify of another step. Before a step reads anything, in a transaction of its own."""
    Tournament.objects.filter(pk=tournament.pk, step_notified=True).update(step_notified=False)


def _may_follow(run: AnyRun) -> bool:
    """Return True for a run of an attack, for the last one of a pair, and in a fixed field for any repeat."""
    if isinstance(run, AttackRun):
        return True
    if not isinstance(run, DefenceRun):
        return run.tournament.fixed
    of = run.attack_run
    attack_runs = AttackRun.objects.filter(tournament=of.tournament_id, attack=of.attack_id)
    unplayed, to_label = attack_runs.aggregate(
        unplayed=Count("pk", filter=~Q(state=Run.State.PLAYED)), to_label=Count("pk", filter=Q(made__gt=0))
    ).values()
    pair = PairTotal.objects.filter(tournament=of.tournament_id, attack=of.attack_id, defence=run.defence_id)
    return not unplayed and pair.filter(played=to_label).exists()
