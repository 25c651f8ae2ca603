"""What leaderboards add to lower apps, connected by `LeaderboardsConfig.ready` and by the query format."""

from __future__ import annotations

from typing import Any

from django.db.models import Min, Q, QuerySet
from django.dispatch import receiver
from django.utils.html import format_html

from competitions.extension_points import deleted_with, sets_in_use
from competitions.models import Competition, SampleSet
from core import worker_notifications
from core.administration.link_columns import count_column
from formats.query.leaderboards.evaluation_basis import COUNTED
from formats.query.leaderboards.models import Evaluation, Pool, Snapshot
from formats.query.leaderboards.submission_choices import newest_choices
from formats.query.matches.extension_points import replay_notes
from formats.query.matches.models import Match
from formats.query.matches.signals import match_ended
from submissions.extension_points import players_in_use, void_by_platform, waiting_for_score
from submissions.models import Player, Submission


def evaluate(submission: Submission) -> None:
    """Notify a worker that begins the evaluation of a submission that is ready."""
    worker_notifications.notify("leaderboards.evaluate", submission=submission.pk)


def rank_again(submission: Submission) -> None:
    """Notify a worker that ranks the leaderboard again on which a submission may count now, or no longer."""
    worker_notifications.notify("leaderboards.score", track=submission.repository.track_id)


@receiver(match_ended)
def score(**signal: Any) -> None:
    """Notify a worker that scores what has been played."""
    worker_notifications.notify("leaderboards.score")


@sets_in_use.add
def evaluated_sets() -> QuerySet[SampleSet]:
    """Return the sample sets of evaluations."""
    return SampleSet.objects.filter(evaluations__isnull=False)


@deleted_with.add
def pools_of_baselines(competition: Competition) -> list[QuerySet[Any]]:
    """Return the pools of a competition without submissions, and the copies of its empty leaderboards."""
    return [each.objects.filter(track__competition=competition) for each in (Pool, Snapshot)]


@void_by_platform.add
def void_evaluations() -> QuerySet[Submission]:
    """Return the submissions whose evaluation that counts ended by a platform error."""
    void = Evaluation.objects.filter(COUNTED, state=Evaluation.State.VOID, cause=Submission.Cause.PLATFORM)
    return Submission.objects.filter(pk__in=void.values("submission"))


@waiting_for_score.add
def playing_evaluations() -> QuerySet[Submission]:
    """Return the submissions with an evaluation that plays, since its start.

    Rejudgings have no limit: no score waits for them, and organisers can discard them.
    """
    playing = Q(evaluations__counts=True, evaluations__state=Evaluation.State.PLAYING)
    return Submission.objects.filter(playing).annotate(waiting_since=Min("evaluations__created_at"))


@players_in_use.add
def opponents() -> QuerySet[Player]:
    """Return the players in pools."""
    return Player.objects.filter(pool_places__isnull=False)


@players_in_use.add
def chosen_players() -> QuerySet[Player]:
    """Return the players of the submissions that teams chose to count."""
    return Player.objects.filter(submissions__submission_choices__in=newest_choices())


@replay_notes.add
def evaluations_to_repeat(match: Match) -> list[str]:
    """Return a note with a link to the evaluations of a match; `match` as the admin reads it, with its counts."""
    if not getattr(match, "evaluations_count", 0):
        return []
    words = (
        "An evaluation that this match stopped has no score until its submission is evaluated again. "
        "The site does this once, an hour after the evaluation ended. Use Re-evaluate to do it now; it also replays "
        "the failed matches. Evaluations with this match: {}"
    )
    return [format_html(words, count_column(Match, "evaluations")(match))]
