"""Template filters for refusals: a headline, the rest of the text, and a list of fixes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evaluation.domain.failure_reasons import Reason

register = template.Library()

_CODE = re.compile(r"`([^`\n]+)`")

_REASONS = {reason.value: reason.text for reason in Reason}
_STAGES = {
    "manifest": "`submission.toml` was rejected.",
    "build_failed": "The build failed.",
    "build_too_slow": "The build took too long.",
    "check_failed": "The smoke test failed.",
    "overdue": "The time limit was reached.",
    "lost": "The connection to the worker was lost.",
    "fault": "Platform error.",
    "own_opponents": "All opponents belong to the same team.",
}


@register.filter
def with_code(text: str) -> SafeString:
    """Format text in backticks as code, and escape everything."""
    parts = _CODE.split(text)
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if odd % 2 else part,) for odd, part in enumerate(parts))
    )


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
        return _STAGES[reason]
    return f"{capital(_REASONS.get(reason) or reason.replace('_', ' '))}."
