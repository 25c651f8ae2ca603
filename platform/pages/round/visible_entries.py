"""Entries of submissions in rounds, as far as the user may see them."""

from __future__ import annotations

from django.db.models import Prefetch, Q, QuerySet

from rounds.models import Round, RoundEntry


def entries_shown(*, inside: bool) -> QuerySet[RoundEntry]:
    """Return the round entries that the user may see, newest first.

    Entries of published rounds are public. The team and the organisers (`inside`) also see those of running rounds.
    """
    shown = Q(round__state=Round.State.PUBLISHED)
    if inside:
        shown |= Q(round__state__in=Round.UNDER_WAY)
    return RoundEntry.objects.filter(shown).select_related("round__competition").order_by("-round")


def with_entries(*, inside: bool) -> Prefetch[str, QuerySet[RoundEntry], str]:
    """Return the prefetch of `entries_shown` for submissions, as their attribute `in_rounds`."""
    return Prefetch("round_entries", entries_shown(inside=inside), to_attr="in_rounds")
