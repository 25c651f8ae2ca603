"""Flash messages: the result of an action, shown on the next page."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.errors import Refusal, RefusedForNow
from pages.templatetags.gauntlet import moment
from pages.templatetags.refusals import capital, with_code


def show_refusal(request: HttpRequest, refusal: Refusal) -> None:
    """Show a refusal with its fix and, for a `RefusedForNow`, the time from which it is accepted."""
    text = format_html("<strong>{}</strong>", with_code(_sentence(refusal.problem)))
    if refusal.fix:
        text += format_html(" {}", with_code(_sentence(refusal.fix)))
    if isinstance(refusal, RefusedForNow):
        text += SafeString(" ") + format_html("Accepted from {}.", moment(refusal.accepted_from))
    messages.error(request, text)


def refusal_text(refusal: Refusal) -> str:
    """Return a refusal and its fix as text, for the top of a form."""
    return " ".join(_sentence(text) for text in (refusal.problem, refusal.fix) if text)


def show_success(request: HttpRequest, text: str) -> None:
    """Show that an action succeeded."""
    messages.success(request, text)


def _sentence(text: str) -> str:
    return f"{capital(text)}{'' if text.endswith(('.', '!', '?')) else '.'}"
