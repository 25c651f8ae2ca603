"""The best of each track in every published round of a competition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from competitions.models import Competition
from rounds.models import Round, RoundEntry
from submissions.models import Submission


@dataclass(frozen=True)
class BestEntry:
    """The first of a track in a round. `not_broken`: a model whose value is a worst case."""

    team: str
    value: float
    not_broken: bool


@dataclass(frozen=True)
class PublishedRound:
    """A published round, and the best of each track by its name; a track without a score is missing."""

    key: int
    number: int
    title: str
    best: Mapping[str, BestEntry]


def published_rounds(competition: Competition) -> list[PublishedRound]:
    """Return the published rounds of a competition in their order, in two queries.

    Submissions that were withdrawn or disqualified, or left a round because their audits failed, are missing.
    """
    published = competition.rounds.filter(state=Round.State.PUBLISHED)
    entries = (
        RoundEntry.objects.filter(round__in=published, place__isnull=False, value__isnull=False)
        .filter(inconsistent=False, submission__disqualified_at=None)
        .exclude(submission__state=Submission.State.WITHDRAWN)
        .order_by("-place", "-order")
    )
    best: dict[int, dict[str, BestEntry]] = {}
    columns = ("round", "track__name", "submission__repository__entry__team__name", "value", "not_broken")
    for round_, track, *values in entries.values_list(*columns):
        best.setdefault(round_, {})[track] = BestEntry(*values)  # the first place comes last
    return [
        PublishedRound(key, number, title, best.get(key, {}))
        for key, number, title in published.order_by("number").values_list("pk", "number", "title")
    ]
