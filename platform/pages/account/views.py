"""Account page: teams, invitations and access tokens."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import services
from accounts.allauth_adapter import LINK_IN_SESSION
from accounts.models import AccessToken
from accounts.selectors import signed_in_user, teams_of
from accounts.sign_up import link_of
from competitions.permissions import may_in, visible_competitions
from competitions.selectors import invitations_of
from core import clock
from core.errors import Refusal
from core.roles import Right
from pages import flash_messages
from pages.access import sign_in_required
from pages.account.forms import TokenForm


@never_cache
@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Show teams and tokens; a POST creates a token, which only this answer shows."""
    user = signed_in_user(request)
    form = TokenForm(request.POST or None)
    plain, made = "", None
    if request.method == "POST" and form.is_valid():
        try:
            made, plain = services.issue_token(user=user, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(None, flash_messages.refusal_text(refusal))
        else:
            form = TokenForm()
    context = {
        "teams": teams_of(user),
        "invitations": invitations_of(user),
        "competitions": visible_competitions(user)
        .filter(ends_at__gt=clock.now(), archived_at=None)
        .exclude(entries__team__in=teams_of(user))
        .exclude(pk__in=may_in(user, Right.SEE)),
        "tokens": user.tokens.all(),
        "form": form,
        "plain": plain,
        "made": made,
        "now": clock.now(),
    }
    return render(request, "pages/account/account.html", context)


@require_POST
@sign_in_required
def token_revoke(request: HttpRequest, token: int) -> HttpResponse:
    """Revoke a token of the user."""
    found = get_object_or_404(AccessToken, pk=token, user=signed_in_user(request))
    try:
        services.revoke_token(token=found, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, f"The token {found.name} is revoked.")
    return redirect("pages:account")


@never_cache
@require_safe
def follow_sign_up_link(request: HttpRequest, key: str) -> HttpResponse:
    """Store the sign-up link in the session and redirect to the form.

    This does not use up the link, because mail programs follow links, too.
    """
    if link_of(key) is None:
        return render(request, "account/signup_closed.html", {"followed": True})
    request.session[LINK_IN_SESSION] = key
    return redirect("account_signup")
