"""How the pages write why something was refused: one headline, the rest of the text, the fixes one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evaluation.domain.results import Reason

register = template.Library()

_CODE = re.compile(r"`([^`\n]+)`")

_REASONS = {reason.value: reason.text for reason in Reason}
_STAGES = {
    "manifest": "`submission.toml` was refused.",
    "build_failed": "The build failed.",
    "build_too_slow": "The build took too long.",
    "check_failed": "The smoke stage failed.",
    "overdue": "It was not over in time.",
    "lost": "The worker that had it was lost.",
    "fault": "Something of ours failed.",
    "own_opponents": "All opponents are of its own team.",
}


@register.filter
def with_code(text: str) -> SafeString:
    """A text in which what stands in backticks is code. Everything in it is escaped."""
    parts = _CODE.split(text)
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if odd % 2 else part,) for odd, part in enumerate(parts))
    )


@register.filter
def headline(problem: str) -> str:
    """The first line of a problem, as a headline."""
    return capital(problem.partition("\n")[0])


def capital(text: str) -> str:
    """A text as a sentence begins. A first word that is a name (`main.py`, `numpy.linalg`) stays as it is."""
    return f"{text[:1].upper()}{text[1:]}" if text.split(" ", 1)[0].isalpha() else text


@register.filter
def below_headline(problem: str) -> str:
    """What a problem says below its first line."""
    return problem.partition("\n")[2].strip("\n")


@register.filter
def fixes(fix: str) -> Sequence[str]:
    """The fixes of a refusal, one a line, each as a sentence begins."""
    return [capital(line.strip()) for line in fix.splitlines() if line.strip()]


@register.filter
def reason_text(reason: str) -> str:
    """A stored reason as a sentence."""
    if reason in _STAGES:
        return _STAGES[reason]
    return f"{capital(_REASONS.get(reason) or reason.replace('_', ' '))}."
