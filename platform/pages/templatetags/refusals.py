"""Template filters for refusals: a headline, the rest of the text, and a list of fixes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop

from evaluation.domain.failure_reasons import Reason
from pages.language import translated

register = template.Library()

_CODE = re.compile(r"`([^`\n]+)`")

_REASONS = {reason.value: reason.text for reason in Reason}
_STAGES = {
    "manifest": gettext_noop("`submission.toml` was rejected."),
    "build_failed": gettext_noop("The build failed."),
    "build_too_slow": gettext_noop("The build took too long."),
    "check_failed": gettext_noop("The smoke test failed."),
    "overdue": gettext_noop("The time limit was reached."),
    "lost": gettext_noop("The connection to the worker was lost."),
    "fault": gettext_noop("Platform error."),
    "own_opponents": gettext_noop("All opponents belong to the same team."),
}


@register.filter
def with_code(text: str) -> SafeString:
    """Format text in backticks as code, and escape everything."""
    parts = _CODE.split(text)
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if odd % 2 else part,) for odd, part in enumerate(parts))
    )


@register.filter
def recorded(text: str) -> SafeString:
    """Format a text that was recorded in English: on pages in another language it is marked as English."""
    return format_html("{}" if get_language() == "en" else '<span lang="en">{}</span>', text)


@register.filter
def headline(problem: str) -> str:
    """Return the first line of a problem, as a headline."""
    return capital(problem.partition("\n")[0])


def capital(text: str) -> str:
    """Capitalise the first letter, unless the first word is a name (`main.py`, `numpy.linalg`)."""
    return f"{text[:1].upper()}{text[1:]}" if text.split(" ", 1)[0].isalpha() else text


@register.filter
def below_headline(problem: str) -> str:
    """Return a problem without its first line."""
    return problem.partition("\n")[2].strip("\n")


@register.filter
def fixes(fix: str) -> Sequence[str]:
    """Return the fixes of a refusal, one for each line, capitalised."""
    return [capital(line.strip()) for line in fix.splitlines() if line.strip()]


@register.filter
def reason_text(reason: str) -> str:
    """Return a stored reason as a sentence."""
    if reason in _STAGES:
        return gettext(_STAGES[reason])
    known = _REASONS.get(reason)
    return f"{capital(translated(known) if known else reason.replace('_', ' '))}."
