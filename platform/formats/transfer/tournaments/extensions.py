"""What tournaments add to lower apps, connected by `TournamentsConfig.ready` and by the transfer format."""

from __future__ import annotations

from django.db.models import F, Q, QuerySet

from competitions.extension_points import deleted_with, sets_in_use
from competitions.models import Competition, SampleSet
from core import worker_notifications
from formats.transfer.tournaments.engine_runs import remove_leftovers
from formats.transfer.tournaments.models import Entrant, Run, Tournament
from formats.transfer.tournaments.run_work import runs
from formats.transfer.tournaments.selectors import without_a_score
from submissions.extension_points import players_in_use, waiting_for_score
from submissions.models import Player, Submission
from workers.extension_points import housekeeping
from workers.work_kind_interface import kinds

kinds.append(runs)
housekeeping.add(remove_leftovers)


def advance(submission: Submission) -> None:
    """Notify a worker that requests the runs of a new submission, or removes one that may no longer take part."""
    worker_notifications.notify("tournaments.sweep")


@sets_in_use.add
def played_sets() -> QuerySet[SampleSet]:
    """Return the sample sets of which a worker has held a batch."""
    return SampleSet.objects.filter(tournaments__attack_runs__fence__gt=0)


@deleted_with.add
def tournaments_of_baselines(competition: Competition) -> list[QuerySet[Tournament]]:
    """Return the tournaments of a competition without submissions, with the runs of its baselines."""
    return [Tournament.objects.filter(competition=competition)]


@waiting_for_score.add
def submissions_without_a_score() -> QuerySet[Submission]:
    """Return the submissions that count now and have no score yet, since they were ready."""
    return without_a_score().annotate(waiting_since=F("state_since"))


@players_in_use.add
def playing_players() -> QuerySet[Player]:
    """Return the entrants and the players with unfinished runs, of tournaments that have not ended."""
    unfinished = (Run.State.WAITING, Run.State.CLAIMED)
    inside = Q(left_at=None, tournament__ended_at=None)
    return Player.objects.filter(
        Q(pk__in=Entrant.objects.filter(inside).values("player"))
        | Q(attack_runs__state__in=unfinished, attack_runs__tournament__ended_at=None)
        | Q(defence_runs__state__in=unfinished, defence_runs__attack_run__tournament__ended_at=None)
        | Q(repeat_runs__state__in=unfinished, repeat_runs__tournament__ended_at=None)
    ).distinct()
