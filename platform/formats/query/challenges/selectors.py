"""Queries about challenges."""

from __future__ import annotations

from django.db.models import QuerySet

from formats.query.challenges.models import Challenge
from formats.query.tracks import MODEL
from submissions.models import Submission

_SHOWN_WITH = (
    "submission__repository__entry__team", "submission__repository__entry__competition__frozen_leaderboards",
    "submission__repository__track", "opponent__repository__entry__team", "opponent__repository__track",
    *("rules", "sample_set", "by"),
)  # fmt: skip


def shown_challenges() -> QuerySet[Challenge]:
    """Return all challenges with what pages and the API show of them, newest first."""
    return Challenge.objects.select_related(*_SHOWN_WITH)


def challenges_by(submission: Submission) -> QuerySet[Challenge]:
    """Return the challenges that a team requested for a submission, newest first."""
    return shown_challenges().filter(submission=submission)


def of_hidden_attack(challenge: Challenge) -> bool:
    """Return whether its images are those of an opponent that the organisers have hidden."""
    opponent = challenge.opponent
    if opponent is None or opponent.repository.track.name == MODEL:
        return False
    return opponent.hidden_at is not None or (opponent.player is not None and opponent.player.hidden)


def stuck_challenges() -> QuerySet[Challenge]:
    """Return the challenges that wait after faults."""
    return Challenge.objects.filter(Challenge.STUCK, state=Challenge.State.WAITING)
