"""Template filters for the runs of attacks and defences."""

from __future__ import annotations

from django import template

from evaluation.formats.transfer.results import BatchReason
from pages.templatetags.refusals import capital

register = template.Library()


@register.filter
def batch_reason(reason: str) -> str:
    """Return the reason of a run as a sentence."""
    return f"{capital(BatchReason(reason).text)}."
