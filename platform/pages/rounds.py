"""What pages show of rounds in every format: released files, and entries of submissions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, Q, QuerySet

from core import object_store
from rounds.models import Release, Round, RoundEntry


@dataclass(frozen=True)
class ReleasedFile:
    """A released part that is one file. `bytes` is its size, None if the file is missing."""

    part: str
    title: str
    released_at: datetime
    bytes: int | None


def files(public: Iterable[Release]) -> Sequence[ReleasedFile]:
    """Return the files among the public parts of a round."""
    return [
        ReleasedFile(each.part, each.get_part_display(), each.released_at, object_store.size(each.content))
        for each in public
        if each.content
    ]


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
