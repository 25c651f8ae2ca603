"""Flash messages: the result of an action, shown on the next page."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from core.errors import Refusal, RefusedForNow
from evaluation.domain.translatable_text import Text
from pages.language import translated
from pages.templatetags.gauntlet import moment
from pages.templatetags.refusals import capital, recorded, with_code


def show_refusal(request: HttpRequest, refusal: Refusal) -> None:
    """Show a refusal with its fix and, for a `RefusedForNow`, the time from which it is accepted."""
    text = format_html("<strong>{}</strong>", _marked(refusal.problem))
    if refusal.fix:
        text += format_html(" {}", _marked(refusal.fix))
    if isinstance(refusal, RefusedForNow):
        text += SafeString(" ") + format_html(gettext("Accepted from {}."), moment(refusal.accepted_from))
    messages.error(request, text)


def refusal_text(refusal: Refusal) -> str:
    """Return a refusal and its fix as text, for the top of a form."""
    return " ".join(_sentence(text) for text in (refusal.problem, refusal.fix) if text)


def show_success(request: HttpRequest, text: str) -> None:
    """Show that an action succeeded."""
    messages.success(request, text)


def _marked(text: str) -> SafeString:
    """Return a text as HTML. What has no translation is marked as English on pages in another language."""
    shown = with_code(_sentence(text))
    return shown if isinstance(text, Text) else recorded(shown)


def _sentence(text: str) -> str:
    text = translated(text)
    return f"{capital(text)}{'' if text.endswith(('.', '!', '?')) else '.'}"
