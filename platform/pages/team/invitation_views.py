"""Actions on team invitations: invite, withdraw, accept, decline."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.models import Invitation
from accounts.selectors import signed_in_user
from competitions import team_invitations
from competitions.permissions import visible_competitions
from competitions.team_invitations import withdraw_invitation
from core.errors import Refusal
from pages import flash_messages
from pages.access import own_entry_of, sign_in_required


@require_POST
@sign_in_required
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Invite a user by name. The answer is the same whether or not the account exists."""
    entry = own_entry_of(request, slug)
    username = request.POST.get("username", "").strip()
    try:
        team_invitations.invite(entry=entry, username=username, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, f"If the account {username} exists, it has an invitation now.")
    return redirect("pages:team", slug)


@require_POST
@sign_in_required
def withdraw(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Withdraw an invitation."""
    entry = own_entry_of(request, slug)
    invitation = get_object_or_404(entry.team.invitations, pk=number)
    try:
        withdraw_invitation(invitation=invitation, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, f"The invitation of {invitation.username} is withdrawn.")
    return redirect("pages:team", slug)


@require_POST
@sign_in_required
def accept(request: HttpRequest, number: int) -> HttpResponse:
    """Accept an invitation and join the team."""
    invitation = _own(request, number)
    try:
        team_invitations.accept(invitation=invitation, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
        return redirect("pages:account")
    flash_messages.show_success(request, f"You are now a member of {invitation.team}.")
    return redirect("pages:team", invitation.team.slug)


@require_POST
@sign_in_required
def decline(request: HttpRequest, number: int) -> HttpResponse:
    """Decline an invitation."""
    invitation = _own(request, number)
    try:
        team_invitations.decline(invitation=invitation, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, f"You declined the invitation to {invitation.team}.")
    return redirect("pages:account")


def _own(request: HttpRequest, number: int) -> Invitation:
    visible = visible_competitions(request.user)
    own = Invitation.objects.filter(user=signed_in_user(request), team__entry__competition__in=visible)
    return get_object_or_404(own.select_related("team"), pk=number)
