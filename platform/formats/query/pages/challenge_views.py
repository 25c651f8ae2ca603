"""Challenges of a team: the form and the request, the page with the result of each sample, and its pictures."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.selectors import member_keys
from competitions.permissions import sees_everything_of
from core.picture_answers import picture_answer
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.rules import QueryRules
from formats.query import NAME
from formats.query.challenges import play_challenge
from formats.query.challenges.models import Challenge
from formats.query.challenges.selectors import of_hidden_attack, shown_challenges
from formats.query.challenges.services import challenge
from formats.query.matches.match_numbers_and_curves import MatchSampleRow, summary
from formats.query.pages.challenge_display import challenge_form, opponent_name
from formats.query.pages.match_gallery_data import gallery
from formats.query.pages.reproduction_commands import challenge_reproduction
from formats.query.pages.rules_table import scale
from formats.query.tracks import MODEL, TARGETED
from pages import polling
from pages.access import check_visible, in_team, sign_in_required, submission_of
from pages.submission.views import change

_EVERY = 5
"""Seconds between polls of a challenge that is not played yet."""


@require_POST
@sign_in_required
def request_challenge(request: HttpRequest, number: int) -> HttpResponse:
    """Request a challenge of a submission against the opponent that a member chose."""
    opponent = request.POST.get("opponent", "").strip()
    done = f"The challenge against {opponent} waits for a worker. It is in the list below."
    return change(request, number, lambda shown, by: challenge(submission=shown, opponent=opponent, by=by), done)


@require_safe
@sign_in_required
def challenge_new(request: HttpRequest, number: int) -> HttpResponse:
    """Show members of its team the form that requests a challenge of a submission."""
    shown = submission_of(request, number)
    entry = shown.repository.entry
    if entry.competition.format != NAME:
        raise Http404("no challenges")
    if not in_team(request, entry):
        raise PermissionDenied
    context = {
        "submission": shown,
        "team": entry.team,
        "track": shown.repository.track,
        "competition": entry.competition,
        "form": challenge_form(shown),
    }
    return render(request, "formats/query/challenge_new.html", context)


@require_safe
def show(request: HttpRequest, number: int) -> HttpResponse:
    """Show state, numbers and samples of a challenge to its team and the organisers."""
    shown = _challenge_of(request, number)
    submission = shown.submission
    competition = submission.repository.entry.competition
    waits = shown.progress in (Challenge.Progress.WAITING, Challenge.Progress.PLAYING)
    context = {"challenge": shown, "progress": shown.progress, "competition": competition}
    known = {"state": str(shown.progress)}
    framed = polling.live_part(
        request, "formats/query/parts/challenge_state.html", context, every=_EVERY if waits else None, known=known
    )
    if polling.is_poll(request):
        if request.GET.get("state") != known["state"]:
            return HttpResponse(headers={"HX-Refresh": "true"})
        return polling.answer(request, framed)
    rows = [MatchSampleRow(**row) for row in shown.results]
    numbers = summary(rows)
    context |= {
        "live_status": framed.html,
        "submission": submission,
        "team": submission.repository.entry.team,
        "members_of_team": member_keys(submission.repository.entry.team),
        "track": submission.repository.track,
        "opponent": opponent_name(shown),
        "is_model": submission.repository.track.name == MODEL,
        "summary": numbers,
        "outcomes": [(each.value, numbers.outcomes.get(each.value, 0)) for each in Outcome] if numbers else [],
        "rows": rows,
        "scale": scale(shown.rules),
        "budget": shown.rules.rules_as(QueryRules).query_budget,
        "again": challenge_reproduction(shown, f"{request.scheme}://{request.get_host()}"),
        "gallery": gallery(
            rows,
            shown.sample_set,
            targeted=shown.attack_track == TARGETED,
            address=lambda sample, name: reverse("pages:challenge_image", args=[shown.pk, sample, name]),
            factor=request.GET.get("amplify", ""),
            page=request.GET.get("page", "1"),
        )
        if not of_hidden_attack(shown)
        else None,
    }
    return render(request, "formats/query/challenge.html", context)


@require_safe
def image(request: HttpRequest, number: int, sample: int, name: str) -> HttpResponse:
    """Return a picture of a sample as PNG, for those who see the challenge."""
    shown = _challenge_of(request, number)
    if of_hidden_attack(shown):
        raise Http404("the attack is hidden")
    return picture_answer(lambda: play_challenge.picture(shown, sample, name))


def _challenge_of(request: HttpRequest, number: int) -> Challenge:
    """Return a challenge. Raise 404 if its competition is hidden, 403 for people of other teams."""
    found = get_object_or_404(shown_challenges(), pk=number)
    entry = found.submission.repository.entry
    check_visible(request, entry.competition)
    if not sees_everything_of(request.user, entry):
        raise PermissionDenied
    return found
