"""Requests of challenges by teams."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import Team, User
from accounts.selectors import is_member
from competitions.models import Competition, Entry
from competitions.permissions import require_not_archived
from competitions.sample_set_selectors import development_set
from competitions.selectors import rules_in_force
from core import clock, event_log, worker_notifications
from core.errors import Refusal, RefusedForNow
from core.time_format import in_words
from formats.query import NAME
from formats.query.challenges.models import Challenge
from formats.query.challenges.opponents import opponent_of
from submissions.models import Submission
from workers.models import Priority

SAMPLES = 20
"""The most samples of a challenge: as many as a smoke test has."""

WINDOW = timedelta(hours=24)
"""The time in which the challenges of a team are counted."""

REQUESTED_AGAIN = timedelta(minutes=10)
"""For how long the same challenge of a person by a program is a repeated request, though it is played by then."""


def challenge(*, submission: Submission, opponent: str, by: User) -> Challenge:
    """Request an unranked match of a ready submission against an opponent that `opponent_of` knows by this name.

    Raise `Refusal`, or `RefusedForNow` while the challenges of the team are used.
    """
    entry = submission.repository.entry
    competition = entry.competition
    _check_member(by, entry.team)
    check_open(competition)
    with transaction.atomic():
        # of two requests at once, the second one sees the first
        Team.objects.select_for_update(no_key=True).get(pk=entry.team_id)
        require_not_archived(Competition.objects.get(pk=competition.pk))
        current = Submission.objects.select_related("player").get(pk=submission.pk)
        check_ready(current)
        chosen = opponent_of(submission, opponent)
        _check_new(current, chosen.name)
        check_left(entry)
        now, samples = clock.database_now(), development_set(competition)
        made = Challenge.objects.create(
            submission=submission,
            by=by,
            requested_at=now,
            opponent_track=chosen.track_name,
            baseline="" if chosen.submission else chosen.name,
            opponent=chosen.submission,
            rules=rules_in_force(competition),
            sample_set=samples,
            samples=min(SAMPLES, samples.count),
            seed=secrets.randbits(31),
            needs_gpu=_needs_gpu(current) or _needs_gpu(chosen.submission),
            entry=entry,
            priority=Priority.UNRANKED,
            queued_at=now,
        )
        event_log.record("challenge", made, by=by, submission=submission.pk, opponent=chosen.name)
        worker_notifications.notify("workers.play")
    return made


def challenge_once(*, submission: Submission, opponent: str, by: User) -> tuple[Challenge, bool]:
    """Request a challenge as `challenge` does, unless it is there already; return it, and whether it is new.

    So a program whose answer was lost may ask again. The same is one against this opponent that is not played yet, or
    that `by` requested within `REQUESTED_AGAIN` and that is played.
    """
    team = submission.repository.entry.team
    _check_member(by, team)
    with transaction.atomic():
        Team.objects.select_for_update(no_key=True).get(pk=team.pk)  # of two requests the second finds it
        recent = Q(by=by, state=Challenge.State.PLAYED, requested_at__gt=clock.database_now() - REQUESTED_AGAIN)
        known = _against(opponent, submission.challenges.filter(Q(state__in=Challenge.OPEN) | recent))
        if known is not None:
            return known, False
        return challenge(submission=submission, opponent=opponent, by=by), True


def challenges_left(entry: Entry) -> int:
    """Return how many challenges the team may still request now."""
    return max(0, settings.TEAM_CHALLENGES - _counted(entry).count())


def check_open(competition: Competition) -> None:
    """Raise `Refusal` unless the competition has challenges and is under way.

    Freeze windows do not matter: nothing of it counts.
    """
    if competition.format != NAME:
        raise Refusal(f"{competition.title} has no challenges", fix="play the match on your computer: gauntlet play")
    require_not_archived(competition)
    now = clock.database_now()
    if now < competition.starts_at:
        raise RefusedForNow(
            f"{competition.title} starts at {in_words(competition.starts_at)}", accepted_from=competition.starts_at
        )
    if now >= competition.ends_at:
        raise Refusal(
            f"{competition.title} ended at {in_words(competition.ends_at)}",
            fix="clone the code of the opponent and play the match on your computer: gauntlet play",
        )


def check_ready(submission: Submission) -> None:
    """Raise `Refusal` for a submission that was not accepted, or is out of the competition."""
    if submission.disqualified_at is not None:
        raise Refusal(f"{submission} is disqualified", fix="choose another submission")
    if submission.state == Submission.State.READY:
        return
    waits = submission.state in Submission.UNDER_WAY
    raise Refusal(
        f"{submission} is {submission.get_state_display()}",
        fix="wait until its smoke test has passed" if waits else "choose a submission that is ready",
    )


def check_left(entry: Entry) -> None:
    """Raise `Refusal` if the team has no challenge left. The result holds only under the lock of the team."""
    limit = settings.TEAM_CHALLENGES
    if limit == 0:
        raise Refusal("this site plays no challenges", fix="play the match on your computer: gauntlet play")
    newest = list(_counted(entry).order_by("-requested_at").values_list("requested_at", flat=True)[:limit])
    if len(newest) == limit:
        used = (
            f"the one challenge of {entry.team.name} in 24 hours is used"
            if limit == 1
            else f"all {limit} challenges of {entry.team.name} in 24 hours are used"
        )
        raise RefusedForNow(used, accepted_from=newest[-1] + WINDOW)


def _counted(entry: Entry) -> QuerySet[Challenge]:
    """Return the challenges that count now; those that platform errors ended do not."""
    recent = Challenge.objects.filter(entry=entry, requested_at__gt=clock.database_now() - WINDOW)
    return recent.exclude(state=Challenge.State.FAILED)


def _check_member(by: User, team: Team) -> None:
    if not is_member(by, team):
        raise Refusal(
            f"{by} is not a member of {team.name}",
            fix=f"choose a submission of your own team, or ask the captain of {team.name} to invite you",
        )


def _check_new(submission: Submission, name: str) -> None:
    """Raise `Refusal` for a challenge that waits or is played already, as after a second click."""
    same = _against(name, submission.challenges.filter(state__in=Challenge.OPEN))
    if same is not None:
        raise Refusal(
            f"{same} of {submission} against {name} is not played yet", fix="wait for its result, or choose another one"
        )


def _against(name: str, challenges: QuerySet[Challenge]) -> Challenge | None:
    """Return the newest of these challenges whose opponent is called so in requests."""
    return next((each for each in challenges if each.opponent_name == name), None)


def _needs_gpu(submission: Submission | None) -> bool:
    return submission is not None and submission.player is not None and submission.player.gpu
