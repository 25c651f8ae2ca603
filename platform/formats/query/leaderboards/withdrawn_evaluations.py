"""The end of evaluations of withdrawn submissions, and of matches that no other evaluation needs.

The withdrawal itself is in `submissions.services`; its notification, or else the next sweep, runs this.
"""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import QuerySet

from competitions.models import Track
from core import event_log, platform_error_report
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.snapshots_and_freezes import time_of_a_result
from formats.query.matches.models import Match
from formats.query.matches.piece_queue import OPEN_MATCH
from formats.query.matches.services import cancel
from submissions.models import Submission

log = logging.getLogger(__name__)

WITHDRAWN = "withdrawn"
"""Reason of an evaluation that ended because its submission was withdrawn."""


def end_withdrawn() -> int:
    """End every playing evaluation of a withdrawn submission, without a score; return how many.

    An evaluation that cannot be ended is logged and skipped.
    """
    playing = Evaluation.objects.filter(state=Evaluation.State.PLAYING, submission__state=Submission.State.WITHDRAWN)
    playing = playing.select_related("submission__repository__track").order_by("pk")
    return sum(map(_try_to_end, playing))


def _try_to_end(evaluation: Evaluation) -> bool:
    try:
        with transaction.atomic():
            return _end(evaluation)
    except Exception as error:  # any error: the others are still ended
        platform_error_report.report(log, error, "%s cannot be ended", evaluation)
        return False


def _end(evaluation: Evaluation) -> bool:
    track = evaluation.submission.repository.track
    Track.objects.select_for_update(no_key=True).get(pk=track.pk)
    ended = Evaluation.objects.filter(pk=evaluation.pk, state=Evaluation.State.PLAYING).update(
        state=Evaluation.State.VOID,
        finished_at=time_of_a_result(track.competition_id),
        cause=Submission.Cause.TEAM,
        reason=WITHDRAWN,
        problem="The submission was withdrawn.",
    )
    if ended:
        event_log.record("void", evaluation, reason=WITHDRAWN, cause=Submission.Cause.TEAM)
        cancel_unneeded(evaluation.matches.all())
    return ended == 1


def cancel_unneeded(matches: QuerySet[Match]) -> None:
    """Cancel those of `matches` that no evaluation needs. Rounds play on samples of their own."""
    unfinished = matches.filter(state__in=OPEN_MATCH).order_by("pk")
    # locked before the check: an evaluation that starts to need one now holds its lock, or waits for it and reactivates
    # the match
    keys = list(unfinished.select_for_update(no_key=True, of=("self",)).values_list("pk", flat=True))
    needed = Evaluation.matches.through.objects.filter(match__in=keys, evaluation__state=Evaluation.State.PLAYING)
    cancel(Match.objects.filter(pk__in=set(keys) - set(needed.values_list("match", flat=True))))
