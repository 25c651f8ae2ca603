"""Webhooks of a team, for its captain."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.selectors import is_captain, signed_in_user
from competitions.models import Entry
from core.errors import Refusal
from pages import flash_messages
from pages.access import entry_of, sign_in_required
from webhooks import services
from webhooks.forms import WebhookForm
from webhooks.models import Webhook
from webhooks.selectors import newest_deliveries, webhooks_of


@never_cache
@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the webhooks of a team; a POST adds one, whose secret only this answer shows."""
    entry = _captains_entry(request, slug)
    form = WebhookForm(request.POST or None)
    made, secret = None, ""
    if request.method == "POST" and form.is_valid():
        try:
            made, secret = services.add_team_webhook(entry=entry, by=signed_in_user(request), **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(None, flash_messages.refusal_text(refusal))
        else:
            form = WebhookForm()
    context = _context(entry) | {"webhooks": webhooks_of(entry), "form": form, "made": made, "secret": secret}
    return render(request, "pages/team/webhooks.html", context)


@sign_in_required
@require_safe
def webhook(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show a webhook with its newest deliveries."""
    entry = _captains_entry(request, slug)
    shown = get_object_or_404(webhooks_of(entry), pk=number)
    context = _context(entry) | {"webhook": shown, "deliveries": newest_deliveries(shown)}
    return render(request, "pages/team/webhook.html", context)


@require_POST
@sign_in_required
def test(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Send a test delivery."""
    return _act(request, slug, number, services.ask_for_test, "A test is on its way.")


@require_POST
@sign_in_required
def enable(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Enable a webhook that was disabled."""
    return _act(request, slug, number, services.enable, "The webhook is enabled.")


@require_POST
@sign_in_required
def remove(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Remove a webhook with its deliveries."""
    return _act(request, slug, number, services.remove, "The webhook is removed.")


@require_POST
@sign_in_required
def send_again(request: HttpRequest, slug: str, number: int, delivery: int) -> HttpResponse:
    """Send a delivery again."""

    def again(webhook: Webhook, by: User) -> None:
        services.ask_again(delivery=get_object_or_404(webhook.deliveries, pk=delivery), by=by)

    return _act(request, slug, number, again, "The delivery is on its way again.")


def _act(request: HttpRequest, slug: str, number: int, act: Callable[..., object], done: str) -> HttpResponse:
    found = get_object_or_404(webhooks_of(_captains_entry(request, slug)), pk=number)
    try:
        act(webhook=found, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, done)
    if not Webhook.objects.filter(pk=number).exists():
        return redirect("pages:webhooks", slug)
    return redirect("pages:webhook", slug, number)


def _captains_entry(request: HttpRequest, slug: str) -> Entry:
    """Return the entry of a team. Raise 404 if it is not visible, 403 unless the user is its captain."""
    entry = entry_of(request, slug)
    if not is_captain(request.user, entry.team):
        raise PermissionDenied
    return entry


def _context(entry: Entry) -> dict[str, object]:
    return {"entry": entry, "team": entry.team, "competition": entry.competition}
