"""Lookups with access control. Objects that the user may not see give 404."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.exceptions import NotAuthenticated, NotFound, PermissionDenied
from rest_framework.request import Request

from accounts.models import User
from accounts.selectors import is_captain, is_member
from api.described_error import DescribedError
from competitions.models import Competition, Entry, Track
from competitions.permissions import require, sees_everything_of, visible_competitions
from core.errors import Refusal
from core.roles import Right
from repositories.models import Repository
from repositories.services import repository_of
from submissions.models import Submission

Row = TypeVar("Row", bound=Model)


def one_of(objects: QuerySet[Row], what: str, **by: Any) -> Row:
    """Return the object with these values. Raise 404 without one; `what` names it in the message."""
    one = objects.filter(**by).first()
    if one is None:
        raise NotFound(f"there is no such {what}")
    return one


def competition_of(request: Request, slug: str) -> Competition:
    """Return a competition that the user may see. Raise 404 otherwise."""
    return one_of(visible_competitions(request.user).select_related("frozen_leaderboards"), "competition", slug=slug)


def submission_of(request: Request, number: int) -> Submission:
    """Return a submission to a competition that the user may see. Raise 404 otherwise.

    Also if it is hidden, for all but its team and the organisers.
    """
    submissions = Submission.objects.select_related(
        "repository__entry__team",
        "repository__entry__competition__frozen_leaderboards",
        "repository__track",
        "submitted_by",
        "quota_slot",
    )
    visible = visible_competitions(request.user)
    submission = one_of(submissions, "submission", pk=number, repository__entry__competition__in=visible)
    if submission.hidden_at is not None and not sees_everything_of(request.user, submission.repository.entry):
        raise NotFound("the organisers have hidden this submission")
    return submission


def entry_of(request: Request, team: str) -> Entry:
    """Return the entry of a team in a competition that the user may see. Raise 404 otherwise."""
    entries = Entry.objects.select_related("team", "competition")
    return one_of(entries, "team", team__slug=team, competition__in=visible_competitions(request.user))


def own_track(request: Request, team: str, track_name: str) -> tuple[Entry, Track]:
    """Return the entry of the user's team and a track of its competition. Raise 401, 403 or 404 otherwise."""
    entry = entry_of(request, team)
    track = one_of(entry.competition.tracks.all(), "track", name=track_name)
    check_member(request, entry)
    return entry, track


def own_repository(request: Request, team: str, track_name: str) -> Repository:
    """Return a repository of the user's team; create it if it is missing. Raise 401, 403 or 404 otherwise."""
    entry, track = own_track(request, team, track_name)
    return repository_of(entry=entry, track=track)


class NotAMemberError(DescribedError, PermissionDenied):
    """The user is not, or no longer, in the team that a request is about."""

    code = "not-a-member"

    def __init__(self, entry: Entry) -> None:
        super().__init__(f"only members of {entry.team.name} can do this")
        self.fix = f"ask the captain of {entry.team.name} to invite you, or send a token of a member"


class NotTheCaptainError(DescribedError, PermissionDenied):
    """The user is in the team that a request is about, and does not lead it."""

    code = "not-the-captain"

    def __init__(self, entry: Entry) -> None:
        super().__init__(f"only the captain of {entry.team.name} can do this")
        self.fix = "ask the captain"


def signed_in(request: Request) -> User:
    """Return the user. Raise 401 without one."""
    if not isinstance(request.user, User):
        raise NotAuthenticated("authentication required")
    return request.user


def check_member(request: Request, entry: Entry) -> User:
    """Return the user if they are a member of the team. Raise 401 or 403 otherwise."""
    user = signed_in(request)
    if not is_member(user, entry.team):
        raise NotAMemberError(entry)
    return user


def check_captain(request: Request, entry: Entry) -> User:
    """Return the user if they are the captain of the team. Raise 401 or 403 otherwise."""
    user = check_member(request, entry)
    if not is_captain(user, entry.team):
        raise NotTheCaptainError(entry)
    return user


def check_inside(request: Request, entry: Entry) -> None:
    """Raise 401 or 403 unless the user sees what only the team and its organisers see."""
    if not sees_everything_of(request.user, entry):
        signed_in(request)
        raise NotAMemberError(entry)


class RoleMissingError(DescribedError, PermissionDenied):
    """The user has no role in the competition, or one that does not allow what a request asks for."""

    code = "role-missing"

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.problem)
        self.fix = refusal.fix


def check_role(request: Request, competition: Competition, right: Right) -> User:
    """Return the user if their role in the competition allows something. Raise 401 or 403 otherwise."""
    user = signed_in(request)
    try:
        require(user, competition, right, archived=True)  # the services say what an archived one refuses
    except Refusal as refusal:
        raise RoleMissingError(refusal) from refusal
    return user
