"""Pages of a team."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import services as accounts
from accounts.models import Membership
from accounts.selectors import open_invitations, signed_in_user
from competitions import services as competitions
from competitions.board_freezes import sees_scores_of
from competitions.models import Entry, TermsVersion, Track
from competitions.permissions import sees_everything_of
from competitions.selectors import acceptance_of, invitations_of, terms_in_force
from core.errors import Refusal
from pages import flash_messages
from pages.access import competition_of, entry_of, in_team, own_entry, own_entry_of, sign_in_required
from pages.board.history_views import team_charts
from pages.competition.calendar import calendar
from pages.shared_pages import shared
from pages.team.forms import TeamForm
from pages.team.team_page_data import STATES, TrackStanding, late_tags, submit_panel, team_page
from repositories.services import repository_of
from submissions import services as submissions
from webhooks.selectors import webhooks_of


@require_safe
@shared
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """Show members, standings and submissions to everyone, and repositories and slots to the team."""
    entry = entry_of(request, slug)
    inside = sees_everything_of(request.user, entry)
    chosen = {name: request.GET.get(name, "") for name in ("of", "state")}
    scores = sees_scores_of(request.user, entry, inside=inside)
    page = request.GET.get("page")
    shown = team_page(
        request, entry, page, track_name=chosen["of"], state=chosen["state"], inside=inside, scores=scores
    )
    members = list(entry.team.memberships.select_related("user"))
    captain = any(each.user_id == request.user.pk and each.role == Membership.Role.CAPTAIN for each in members)
    context = {
        "entry": entry,
        "team": entry.team,
        "competition": entry.competition,
        "members": members,
        "members_of_team": {each.user_id for each in members},
        "content": shown.content,
        "standings": shown.standings,
        "histories": [
            (each.track, charts)
            for each in shown.standings
            if each.content.submission and (charts := team_charts(request, entry, each.track))
        ],
        "submissions": shown.submissions,
        "chosen": chosen,
        "states": STATES,
        "inside": inside,
        "member": in_team(request, entry),
        "captain": captain,
        "sent_invitations": open_invitations(entry.team) if captain else [],
        "disabled_webhooks": webhooks_of(entry).exclude(disabled_at=None).count() if captain else 0,
        "invitations": invitations_of(request.user).filter(team=entry.team),
        "panel": submit_panel(entry, _track_to_submit(request, shown.standings)) if inside else None,
        "late_tags": late_tags(entry) if inside else [],
        "calendar": calendar(entry.competition) if inside else None,
        "terms_to_accept": _terms_to_accept(entry) if inside else None,
        "site_url": _site_url(request),
    }
    return render(request, "pages/team/team.html", context)


def _track_to_submit(request: HttpRequest, standings: Sequence[TrackStanding]) -> Track:
    """Return the track `?track=`, or that of the newest submission, or the first. Raise 404 for an unknown name."""
    name = request.GET.get("track")
    if name:
        return get_object_or_404(Track, competition=standings[0].track.competition_id, name=name)
    return max(standings, key=lambda each: each.newest.submission.pk if each.newest else 0).track


def _terms_to_accept(entry: Entry) -> TermsVersion | None:
    """Return the terms in force if the team has not accepted them."""
    terms = terms_in_force(entry.competition)
    return None if terms is None or acceptance_of(entry, terms) else terms


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def team_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a team for a competition."""
    competition = competition_of(request, slug)
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            entry = competitions.make_team(
                slug=form.cleaned_data["slug"],
                name=form.cleaned_data["name"],
                captain=signed_in_user(request),
                competition=competition,
                terms=request.POST.get("terms", ""),
            )
        except Refusal as refusal:
            form.add_error(None, flash_messages.refusal_text(refusal))
        else:
            flash_messages.show_success(request, f"Team {entry.team.name} created. You are its captain.")
            return redirect("pages:team", entry.team.slug)
    if own := own_entry(request.user, competition):  # the form was sent twice, or is of no use
        flash_messages.show_success(request, f"You are in the team {own.team.name}.")
        return redirect("pages:team", own.team.slug)
    context = {"form": form, "competition": competition, "terms": terms_in_force(competition)}
    return render(request, "pages/team/team_new.html", context)


@require_POST
@sign_in_required
def submit(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Submit a commit that is already in the repository."""
    entry = own_entry_of(request, slug)
    track = get_object_or_404(Track, competition=entry.competition, name=track_name)
    try:
        made = submissions.submit(
            repository=repository_of(entry=entry, track=track),
            commit=request.POST.get("commit", ""),
            by=signed_in_user(request),
        )
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
        return redirect(f"{reverse('pages:team', args=[slug])}?track={track.name}#submit")
    flash_messages.show_success(request, f"Submission {made.pk} accepted.")
    return redirect("pages:submission", made.pk)


@require_POST
@sign_in_required
def member_remove(request: HttpRequest, slug: str, user: int) -> HttpResponse:
    """Remove a member from the team, or leave it."""
    entry = own_entry_of(request, slug)
    membership = get_object_or_404(entry.team.memberships.select_related("user"), user=user)
    try:
        accounts.remove_member(team=entry.team, user=membership.user, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        left = user == request.user.pk
        text = f"You left {entry.team}." if left else f"{membership.user.username} is no longer a member."
        flash_messages.show_success(request, text)
    return redirect("pages:team", slug)


def _site_url(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"
