"""What platform errors hold up now: the rows behind the incidents of the status page and of the admin's first page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Exists, OuterRef, Q, QuerySet

from competitions.models import Competition
from core import clock
from leaderboards.evaluation_basis import COUNTED, unresolved
from leaderboards.models import Evaluation
from matches.models import Match
from rounds.models import Round
from submissions.models import QuotaSlot, Submission
from submissions.quota_ledger import AWAITS_ORGANISER
from tournaments.boards import tournaments_in_force
from tournaments.models import DefenceRun, Run, Tournament

SHOWN = timedelta(days=7)
"""How long a submission that ended by platform errors is an incident, unless its team submits again."""

CACHED_SECONDS = 30
"""How long the evaluations without a score are cached: finding them reads every track, and the page is polled."""

NOT_ENDED = (Round.State.PLANNED, *Round.UNDER_WAY)


def playing_evaluations() -> QuerySet[Evaluation]:
    """Return the evaluations whose matches are played."""
    return Evaluation.objects.filter(COUNTED, state=Evaluation.State.PLAYING)


def void_evaluations() -> QuerySet[Evaluation]:
    """Return the evaluations that platform errors ended and whose submissions have no score since then."""
    keys = cache.get_or_set("void-evaluations", _unresolved_keys, CACHED_SECONDS)
    return Evaluation.objects.filter(pk__in=keys or (), state=Evaluation.State.VOID)


def failed_matches() -> QuerySet[Match]:
    """Return the failed matches that an evaluation without a score, or a round that has not ended, needs."""
    needed = Q(evaluations__in=playing_evaluations()) | Q(evaluations__in=void_evaluations())
    in_round = Q(round_match__round__state__in=NOT_ENDED)
    return Match.objects.filter(needed | in_round, state=Match.State.FAILED).distinct()


def failed_runs(kind: type[Run]) -> QuerySet[Any]:
    """Return the failed runs of the leaderboards in force and of rounds that have not ended."""
    competitions = Competition.objects.filter(format=Competition.Format.TRANSFER)
    rounds = Tournament.objects.filter(fixed=True, ended_at=None)
    keys = [each.pk for each in (*tournaments_in_force(competitions).values(), *rounds)]
    tournament = "attack_run__tournament" if kind is DefenceRun else "tournament"
    return kind._default_manager.filter(**{f"{tournament}__in": keys}, state=Run.State.FAILED)


def failed_submissions() -> QuerySet[Submission]:
    """Return the submissions that platform errors ended lately, unless their teams submitted again."""
    newer = Submission.objects.filter(repository=OuterRef("repository"), pk__gt=OuterRef("pk"))
    ended = Q(state=Submission.State.REJECTED, cause=Submission.Cause.PLATFORM, state_since__gt=clock.now() - SHOWN)
    return Submission.objects.filter(ended, ~Exists(newer))


def slots_to_refund() -> QuerySet[QuotaSlot]:
    """Return the slots that platform errors used and only an organiser may refund."""
    return QuotaSlot.objects.filter(state=QuotaSlot.State.USED, reason=AWAITS_ORGANISER)


def _unresolved_keys() -> list[int]:
    return list(unresolved().values_list("pk", flat=True))
