"""The pages of a team."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import services as accounts
from accounts.models import Membership
from accounts.selectors import open_invitations
from competitions import services as competitions
from competitions.models import Track
from competitions.selectors import invitations_of
from core.errors import Refusal
from leaderboards.selectors import luck_of, rows_of, sees_live
from pages import flash_messages
from pages.access import belongs, competition_of, entry_of, own_entry_of, person, sees_inside
from pages.calendar import calendar
from pages.forms import TeamForm
from pages.rounds import with_entries
from pages.selectors import repository_panels
from repositories.services import repository_of
from submissions import services as submissions
from submissions.models import Submission

SUBMISSIONS_PER_PAGE = 50


@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """A team: members, standings and submissions for everyone, repositories and slots for its own."""
    entry = entry_of(request, slug)
    inside = sees_inside(request, entry)
    still = not sees_live(request.user, entry.competition)
    sent = (
        Submission.objects.filter(repository__entry=entry)
        .select_related("repository__track", "submitted_by")
        .prefetch_related(with_entries(inside=inside))
    )
    members = list(entry.team.memberships.select_related("user"))
    captain = any(each.user_id == request.user.pk and each.role == Membership.Role.CAPTAIN for each in members)
    context = {
        "entry": entry,
        "team": entry.team,
        "competition": entry.competition,
        "members": members,
        "standings": rows_of(entry, frozen=still),
        "luck": luck_of(entry, inside=inside),
        "still_since": entry.competition.leaderboards_frozen_since if still else None,
        "page": Paginator(sent, SUBMISSIONS_PER_PAGE).get_page(request.GET.get("page")),
        "inside": inside,
        "member": belongs(request, entry),
        "captain": captain,
        "sent_invitations": open_invitations(entry.team) if captain else [],
        "invitations": invitations_of(request.user).filter(team=entry.team),
        "workshops": repository_panels(entry) if inside else [],
        "calendar": calendar(entry.competition) if inside else None,
        "site_url": _site_url(request),
    }
    return render(request, "pages/team.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def team_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Form a team and take part in a competition with it."""
    competition = competition_of(request, slug)
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            entry = competitions.make_team(
                slug=form.cleaned_data["slug"],
                name=form.cleaned_data["name"],
                captain=person(request),
                competition=competition,
            )
        except Refusal as refusal:
            form.add_error(None, flash_messages.in_words(refusal))
        else:
            flash_messages.done(request, f"{entry.team.name} takes part. You are its captain.")
            return redirect("pages:team", entry.team.slug)
    return render(request, "pages/team_new.html", {"form": form, "competition": competition})


@require_POST
@login_required
def submit(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Submit a commit that was pushed before."""
    entry = own_entry_of(request, slug)
    track = get_object_or_404(Track, competition=entry.competition, name=track_name)
    try:
        made = submissions.submit(
            repository=repository_of(entry=entry, track=track),
            commit=request.POST.get("commit", ""),
            by=person(request),
        )
    except Refusal as refusal:
        flash_messages.refused(request, refusal)
        return redirect("pages:team", slug)
    flash_messages.done(request, f"Submission {made.pk} is received.")
    return redirect("pages:submission", made.pk)


@require_POST
@login_required
def member_remove(request: HttpRequest, slug: str, user: int) -> HttpResponse:
    """Take someone out of the team, or leave it."""
    entry = own_entry_of(request, slug)
    membership = get_object_or_404(entry.team.memberships.select_related("user"), user=user)
    try:
        accounts.remove_member(team=entry.team, user=membership.user, by=person(request))
    except Refusal as refusal:
        flash_messages.refused(request, refusal)
    else:
        left = user == request.user.pk
        flash_messages.done(
            request, f"You have left {entry.team}." if left else f"{membership.user.username} is no member any more."
        )
    return redirect("pages:team", slug)


def _site_url(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"
