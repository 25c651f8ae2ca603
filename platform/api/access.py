"""What there is for whoever asks. What they may not see does not exist for them."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.request import Request

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Competition, Entry, Track
from competitions.selectors import sees_everything_of, visible_competitions
from repositories.models import Repository
from repositories.services import repository_of
from submissions.models import Submission


def competition_of(request: Request, slug: str) -> Competition:
    """A competition that whoever asks may see, or 404."""
    return get_object_or_404(visible_competitions(request.user), slug=slug)


def submission_of(request: Request, number: int) -> Submission:
    """A submission to such a competition, or 404."""
    submissions = Submission.objects.select_related(
        "repository__entry__team", "repository__entry__competition", "repository__track", "submitted_by", "quota_slot"
    )
    return get_object_or_404(
        submissions, pk=number, repository__entry__competition__in=visible_competitions(request.user)
    )


def own_repository(request: Request, team: str, track_name: str) -> Repository:
    """A repository of a team that whoever asks is a member of, made where it is missing; 401, 403 or 404 otherwise."""
    entries = Entry.objects.select_related("team", "competition")
    entry = get_object_or_404(entries, team__slug=team, competition__in=visible_competitions(request.user))
    track = get_object_or_404(Track, competition=entry.competition, name=track_name)
    check_member(request, entry)
    return repository_of(entry=entry, track=track)


def check_member(request: Request, entry: Entry) -> User:
    """Who asks, where they are a member of the team; raises 401 or 403 otherwise."""
    if not isinstance(request.user, User):
        raise NotAuthenticated("this needs an account")
    if not is_member(request.user, entry.team):
        raise PermissionDenied(f"only members of {entry.team.name} may do this")
    return request.user


def sees_inside(request: Request, entry: Entry) -> bool:
    """Whether whoever asks sees what is between a team and its organisers."""
    return sees_everything_of(request.user, entry)
