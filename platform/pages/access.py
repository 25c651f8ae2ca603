"""Who sees what. A competition that is not visible, and everything in it, does not exist for whoever asks."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Competition, Entry
from competitions.selectors import sees_everything_of, visible_competitions
from rounds.models import Round
from submissions.models import Submission


def person(request: HttpRequest) -> User:
    """Who asks; raises `PermissionDenied` where nobody is logged in."""
    if isinstance(request.user, User):
        return request.user
    raise PermissionDenied


def competition_of(request: HttpRequest, slug: str) -> Competition:
    """A competition that whoever asks may see, or 404."""
    found: Competition = get_object_or_404(visible_competitions(request.user), slug=slug)
    return found


def round_of(request: HttpRequest, slug: str, number: int) -> Round:
    """A round of such a competition, or 404."""
    rounds = competition_of(request, slug).rounds.select_related("window", "sample_set", "rules")
    found: Round = get_object_or_404(rounds, number=number)
    return found


def entry_of(request: HttpRequest, team: str) -> Entry:
    """A team's place in a competition that whoever asks may see, or 404."""
    entry = get_object_or_404(Entry.objects.select_related("team", "competition"), team__slug=team)
    _check_visible(request, entry.competition)
    return entry


def submission_of(request: HttpRequest, number: int) -> Submission:
    """A submission to a competition that whoever asks may see, or 404."""
    related = (
        "repository__entry__team",
        "repository__entry__competition",
        "repository__track",
        "submitted_by",
        "player",
        "quota_slot",
    )
    submission = get_object_or_404(Submission.objects.select_related(*related), pk=number)
    _check_visible(request, submission.repository.entry.competition)
    return submission


def belongs(request: HttpRequest, entry: Entry) -> bool:
    """Whether whoever asks is a member of the team."""
    return is_member(request.user, entry.team)


def own_entry_of(request: HttpRequest, team: str) -> Entry:
    """The entry of a team that whoever asks is a member of; 404 where it is not to be seen, 403 for others."""
    entry = entry_of(request, team)
    if not belongs(request, entry):
        raise PermissionDenied
    return entry


def sees_inside(request: HttpRequest, entry: Entry) -> bool:
    """Whether whoever asks sees what is between a team and its organisers."""
    return sees_everything_of(request.user, entry)


def _check_visible(request: HttpRequest, competition: Competition) -> None:
    if not visible_competitions(request.user).filter(pk=competition.pk).exists():
        raise Http404("no such page")
