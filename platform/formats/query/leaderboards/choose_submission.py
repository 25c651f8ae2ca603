"""A team's choice which of its submissions to a track counts."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Competition, Entry
from competitions.permissions import require_not_archived
from competitions.rules import teams_may_choose
from competitions.selectors import rules_in_force
from core import clock, event_log
from core.errors import Refusal, RefusedForNow
from core.time_format import in_words
from core.worker_notifications import notify
from formats.query.leaderboards import services
from formats.query.leaderboards.evaluation_basis import COUNTED, counting
from formats.query.leaderboards.models import Evaluation, SubmissionChoice
from formats.query.leaderboards.snapshots_and_freezes import time_of_a_result
from formats.query.leaderboards.submission_choices import choice_of
from repositories.models import Repository
from submissions.models import Submission
from submissions.removed_images import image_is_removed

PERIOD = timedelta(hours=24)
"""A team chooses as often in this time as it may submit: each choice may cost an evaluation."""


def choosable() -> QuerySet[Submission]:
    """Return the submissions that their teams can choose: those that count and have a score."""
    scored = Evaluation.objects.filter(COUNTED, submission=OuterRef("pk"), state=Evaluation.State.SCORED)
    return counting().filter(Exists(scored))


def choose(*, submission: Submission, by: User) -> None:
    """Make a submission of the team count, from now on, instead of its newest one; evaluate it if necessary.

    Rounds that are frozen, and frozen leaderboards, stay as they are. Raise `Refusal` where `by` is not in the team,
    the rules in force do not allow it, the competition has ended or is archived, the submission cannot count, or its
    image is gone.
    """
    repository = submission.repository
    removed = image_is_removed(submission)  # before the locks: the store may be slow
    with transaction.atomic():
        _check(repository.entry, by)
        # locked: it cannot be withdrawn meanwhile
        held = Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
        _check_choosable(held)
        current = choice_of(repository)
        if current is not None and current.submission_id == held.pk:
            raise Refusal(f"submission {held.pk} is already the one that counts", fix="no action needed")
        if removed:
            days = settings.IMAGES_KEPT.days
            raise Refusal(
                f"submission {held.pk} was superseded for more than {days} days: its image was removed",
                fix="commit its files again, and push the commit with a new tag",
            )
        _check_limit(repository)
        _record(repository, held, by)
        services.evaluate(held)


def choose_newest(*, repository: Repository, by: User) -> None:
    """End the team's choice: its newest submission counts again. Raise `Refusal` as `choose` does."""
    with transaction.atomic():
        _check(repository.entry, by)
        if choice_of(repository) is None:
            raise Refusal("the newest submission counts already", fix="no action needed")
        newest = counting().filter(repository=repository).order_by("-pk").first()
        if newest is not None:
            Submission.objects.select_for_update(no_key=True).get(pk=newest.pk)
        _record(repository, None, by)
        if newest is not None:
            services.evaluate(newest)


def _check(entry: Entry, by: User) -> None:
    """Lock the competition, as the freezes of rounds and leaderboards do, and check that `by` may choose now."""
    if not is_member(by, entry.team):
        raise Refusal(
            f"only members of {entry.team.name} can choose which submission counts",
            fix="ask a member",
        )
    competition = Competition.objects.select_for_update(no_key=True).get(pk=entry.competition_id)
    require_not_archived(competition)
    rules = rules_in_force(competition)
    if not teams_may_choose(rules.values):
        raise Refusal(
            f"under version {rules.version} of the rules the newest submission counts",
            fix="withdraw newer submissions to make an older one count",
        )
    if clock.database_now() >= competition.ends_at:
        raise Refusal(
            f"{competition.title} ended at {in_words(competition.ends_at)}",
            fix="the submission that counted at the end stays",
        )


def _check_choosable(submission: Submission) -> None:
    if choosable().filter(pk=submission.pk).exists():
        return
    pk = str(submission.pk)
    if submission.disqualified_at is not None:
        problem = f"submission {pk} is disqualified"
    elif submission.baseline_at is not None:
        problem = f"submission {pk} is a baseline"
    elif submission.state != Submission.State.READY:
        state = submission.get_state_display()
        problem = f"submission {pk} is {state}"
    else:
        problem = f"submission {pk} has no score"
    raise Refusal(problem, fix="choose a submission with a score")


def _check_limit(repository: Repository) -> None:
    """Raise `RefusedForNow` after as many choices in 24 hours as the track has slots."""
    quota = repository.track.quota
    recent = repository.submission_choices.filter(
        submission__isnull=False, made_at__gt=clock.database_now() - PERIOD
    ).order_by("-made_at")
    latest = list(recent.values_list("made_at", flat=True)[:quota])
    if latest and len(latest) == quota:
        made = "once" if quota == 1 else f"{quota:,} times"
        raise RefusedForNow(f"your team has chosen {made} in 24 hours", accepted_from=latest[-1] + PERIOD)


def _record(repository: Repository, submission: Submission | None, by: User) -> None:
    at = time_of_a_result(repository.entry.competition_id)
    SubmissionChoice.objects.create(repository=repository, submission=submission, made_by=by, made_at=at)
    event_log.record("choose", repository, by=by, submission=submission.pk if submission else None)
    notify("leaderboards.score", track=repository.track_id)
