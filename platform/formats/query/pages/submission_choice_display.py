"""What pages say about the submission of a team that counts, and whether a member may choose it."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime

from competitions.models import Competition, Entry
from competitions.rules import teams_may_choose
from core import clock
from formats.query.leaderboards.choose_submission import choosable
from formats.query.leaderboards.models import SubmissionChoice
from formats.query.leaderboards.submission_choices import choice_of, newest_choices
from submissions.models import Submission


@dataclass(frozen=True)
class TeamChoice:
    """A choice of a team, by `user`, that the rules in force allow.

    `counts`: whether its submission can count. If not, the newest one does, and the state of `submission` says why.
    """

    submission: Submission
    user: str
    at: datetime
    counts: bool


def choosing_is_allowed(competition: Competition) -> bool:
    """Return whether the rules in force let teams choose."""
    rules = competition.rules_versions.first()
    return rules is not None and teams_may_choose(rules.values)


def choices_of_team(entry: Entry) -> dict[int, TeamChoice]:
    """Return the choices in force of a team, by the key of the track, in at most two queries."""
    made = newest_choices().filter(repository__entry=entry, submission__isnull=False)
    choices = list(made.select_related("repository", "submission", "made_by"))
    can_count = _choosable(choice.submission_id for choice in choices) if choices else set()
    return {choice.repository.track_id: found for choice in choices if (found := _shown(choice, can_count))}


@dataclass(frozen=True)
class ShownChoice:
    """What the page of a submission says to its team: the choice on its track, and whether it can be chosen instead."""

    of_team: TeamChoice | None
    possible: bool


def choice_on(submission: Submission) -> ShownChoice | None:
    """Return what the page of a submission says about choices; None if the rules in force allow none."""
    competition = submission.repository.entry.competition
    if not choosing_is_allowed(competition):
        return None
    choice = choice_of(submission.repository)
    can_count = _choosable([submission.pk, choice.submission_id if choice else None])
    is_chosen = choice is not None and choice.submission_id == submission.pk
    return ShownChoice(
        _shown(choice, can_count) if choice else None,
        clock.now() < competition.ends_at and submission.pk in can_count and not is_chosen,
    )


def _choosable(keys: Iterable[int | None]) -> set[int]:
    return set(choosable().filter(pk__in=[key for key in keys if key]).values_list("pk", flat=True))


def _shown(choice: SubmissionChoice, can_count: Container[int]) -> TeamChoice | None:
    if choice.submission is None:
        return None
    counts = choice.submission.pk in can_count
    return TeamChoice(choice.submission, choice.made_by.username, choice.made_at, counts)
