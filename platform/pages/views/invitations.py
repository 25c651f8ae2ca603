"""Invitations into a team: sent and withdrawn by its captain, answered by the person who is invited."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.models import Invitation
from competitions import services
from competitions.selectors import visible_competitions
from core.errors import Refusal
from pages import flash_messages
from pages.access import own_entry_of, person


@require_POST
@login_required
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Invite somebody by user name; the answer is the same whether or not there is such an account."""
    entry = own_entry_of(request, slug)
    username = request.POST.get("username", "").strip()
    try:
        services.invite(entry=entry, username=username, by=person(request))
    except Refusal as refusal:
        flash_messages.refused(request, refusal)
    else:
        flash_messages.done(request, f"If the account {username} exists, it now has an invitation.")
    return redirect("pages:team", slug)


@require_POST
@login_required
def withdraw(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Take an invitation back."""
    entry = own_entry_of(request, slug)
    invitation = get_object_or_404(entry.team.invitations, pk=number)
    try:
        services.withdraw_invitation(invitation=invitation, by=person(request))
    except Refusal as refusal:
        flash_messages.refused(request, refusal)
    else:
        flash_messages.done(request, f"The invitation of {invitation.username} is withdrawn.")
    return redirect("pages:team", slug)


@require_POST
@login_required
def accept(request: HttpRequest, number: int) -> HttpResponse:
    """Join the team that invites."""
    invitation = _own(request, number)
    try:
        services.accept(invitation=invitation, by=person(request))
    except Refusal as refusal:
        flash_messages.refused(request, refusal)
        return redirect("pages:account")
    flash_messages.done(request, f"You are a member of {invitation.team} now.")
    return redirect("pages:team", invitation.team.slug)


@require_POST
@login_required
def decline(request: HttpRequest, number: int) -> HttpResponse:
    """Say no."""
    invitation = _own(request, number)
    try:
        services.decline(invitation=invitation, by=person(request))
    except Refusal as refusal:
        flash_messages.refused(request, refusal)
    else:
        flash_messages.done(request, f"You declined the invitation to {invitation.team}.")
    return redirect("pages:account")


def _own(request: HttpRequest, number: int) -> Invitation:
    visible = visible_competitions(request.user)
    own = Invitation.objects.filter(user=person(request), team__entry__competition__in=visible)
    return get_object_or_404(own.select_related("team"), pk=number)
