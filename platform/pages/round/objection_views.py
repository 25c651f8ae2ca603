"""Pages on which a team objects to the result of a round, and withdraws an objection."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from accounts.selectors import signed_in_user
from core.errors import Refusal
from pages import flash_messages
from pages.access import own_teams, round_of, sign_in_required
from pages.formats import page_formats
from pages.round.objection_form import ObjectionForm
from rounds.models import Objection, Round
from rounds.objections.filing import file_objection, require_period, withdraw_objection
from rounds.objections.selectors import entry_title, match_seen, objecting_team


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def objection_new(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Object to the result of a round, for members of a team that took part in it."""
    shown, by = round_of(request, slug, number), signed_in_user(request)
    team = objecting_team(by, shown)
    if team is None:
        raise PermissionDenied
    form = ObjectionForm(
        request.POST or None,
        entries=_entries(shown),
        match=_match(request, shown),
        has_matches=bool(page_formats.of(shown.competition).attack_tracks),
    )
    try:
        require_period(shown)
        if form.is_valid():
            made = file_objection(round_=shown, by=by, text=form.cleaned_data["text"], **form.subject)
            flash_messages.show_success(request, f"Objection {made.pk} is made. The organisers will answer it.")
            return _back(shown)
    except Refusal as refusal:
        if request.method != "POST" or shown.state != Round.State.PUBLISHED:  # the form would show who takes part
            flash_messages.show_refusal(request, refusal)
            return _back(shown)
        form.add_error(None, flash_messages.refusal_text(refusal))
    context = {"form": form, "round": shown, "competition": shown.competition, "team": team}
    return render(request, "pages/round/objection_new.html", context)


@require_POST
@sign_in_required
def objection_withdraw(request: HttpRequest, slug: str, number: int, objection: int) -> HttpResponse:
    """Withdraw an objection of the user's team."""
    shown = round_of(request, slug, number)
    own = Objection.objects.filter(round=shown, team__in=own_teams(request)).select_related("team")
    row = get_object_or_404(own, pk=objection)
    try:
        withdraw_objection(objection=row, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, f"Objection {row.pk} is withdrawn.")
    return _back(shown)


def _entries(shown: Round) -> list[tuple[int, str]]:
    related = ("track", "submission__repository__entry__team")
    rows = shown.entries.select_related(*related).order_by("track", "place", "order")
    return [(row.pk, entry_title(row)) for row in rows]


def _match(request: HttpRequest, shown: Round) -> tuple[str, str] | None:
    """Return key and title of the match that the address names, None if it names none. Raise 404 for an unknown one."""
    key = request.GET.get("match", "")
    if not key:
        return None
    found = match_seen(shown, key, request.user)
    if found is None:
        raise Http404("no such match")
    return key, found.title


def _back(shown: Round) -> HttpResponse:
    return redirect(f"{reverse('pages:round', args=[shown.competition.slug, shown.number])}#objections")
