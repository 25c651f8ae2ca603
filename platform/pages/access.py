"""Access rules of the pages. A competition that is not visible to the user, with everything in it, is a 404."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.models import Team, User
from accounts.selectors import is_member, teams_of
from competitions.models import Competition, Entry, Track
from competitions.permissions import sees_everything_of, visible_competitions
from rounds.models import Round
from submissions.models import Submission

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def sign_in_required(view: View) -> View:
    """Lead people who are not signed in to the sign-in, and then to what they asked for or to the form they sent.

    As Django's `login_required`, which after a form whose session had ended leads to an address that takes only POSTs.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return redirect_to_login(_page_asked_for(request))

    return cast("View", answer)


def _page_asked_for(request: HttpRequest) -> str:
    """Return the address of the page, for a form that was sent that of its page, without the name of the site."""
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    page = urlsplit(request.headers.get("Referer", ""))
    return page._replace(scheme="", netloc="").geturl() if page.netloc == request.get_host() else reverse("pages:home")


def own_teams(request: HttpRequest) -> Sequence[Team]:
    """Return the teams of the user, which the menu and many pages show; in one query a request."""
    known: dict[str, Sequence[Team]] = vars(request)
    if "own_teams" not in known:
        known["own_teams"] = list(teams_of(request.user))
    return known["own_teams"]


def own_entry(user: User | AnonymousUser, competition: Competition) -> Entry | None:
    """Return the entry of the user's team in the competition. There is at most one."""
    return Entry.objects.filter(competition=competition, team__in=teams_of(user)).select_related("team").first()


def competition_of(request: HttpRequest, slug: str) -> Competition:
    """Return a competition that the user may see. Raise 404 otherwise."""
    visible = visible_competitions(request.user).select_related("frozen_leaderboards")
    found: Competition = get_object_or_404(visible, slug=slug)
    return found


def track_of(request: HttpRequest, slug: str, name: str) -> Track:
    """Return a track of a competition that the user may see. Raise 404 otherwise."""
    found: Track = get_object_or_404(competition_of(request, slug).tracks, name=name)
    return found


def round_of(request: HttpRequest, slug: str, number: int) -> Round:
    """Return a round of a competition that the user may see. Raise 404 otherwise."""
    visible = Round.objects.filter(competition__in=visible_competitions(request.user))
    rounds = visible.select_related("competition__frozen_leaderboards", "window", "sample_set", "rules")
    found: Round = get_object_or_404(rounds, competition__slug=slug, number=number)
    return found


def entry_of(request: HttpRequest, team: str) -> Entry:
    """Return a team's entry in a competition that the user may see. Raise 404 otherwise."""
    entry = get_object_or_404(Entry.objects.select_related("team", "competition__frozen_leaderboards"), team__slug=team)
    check_visible(request, entry.competition)
    return entry


class SubmissionHiddenError(Http404):
    """The organisers have hidden a submission from everybody but its team. The message is for readers."""


def submission_of(request: HttpRequest, number: int) -> Submission:
    """Return a submission to a competition that the user may see. Raise 404 otherwise.

    Also if it is hidden, for all but its team and the organisers.
    """
    related = (
        "repository__entry__team",
        "repository__entry__competition__frozen_leaderboards",
        "repository__track",
        "submitted_by",
        "player",
        "quota_slot",
    )
    submission = get_object_or_404(Submission.objects.select_related(*related), pk=number)
    check_visible(request, submission.repository.entry.competition)
    if submission.hidden_at is not None and not sees_everything_of(request.user, submission.repository.entry):
        raise SubmissionHiddenError("The organisers have hidden this submission. Its scores count as before.")
    return submission


def in_team(request: HttpRequest, entry: Entry) -> bool:
    """Return whether the user is a member of the team."""
    return is_member(request.user, entry.team)


def own_entry_of(request: HttpRequest, team: str) -> Entry:
    """Return the entry of a team of the user. Raise 404 if it is not visible, 403 if the user is not a member."""
    entry = entry_of(request, team)
    if not in_team(request, entry):
        raise PermissionDenied
    return entry


def check_visible(request: HttpRequest, competition: Competition) -> None:
    """Raise 404 for a competition that the user may not see."""
    if not visible_competitions(request.user).filter(pk=competition.pk).exists():
        raise Http404("no such page")
