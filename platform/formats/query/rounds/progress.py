"""The progress of a round of the query format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from formats.query.matches.models import Match, Piece
from rounds.models import Round


@dataclass(frozen=True)
class TripleProgress:
    """Progress of a round: triples played and requested, its matches, and those with a platform error.

    More may be requested until it is scored; `estimate` gives the maximum.
    """

    done: int
    left: int
    matches: int
    faults: Sequence[Match]


def progress(round_: Round) -> TripleProgress:
    """Return the progress of a round, in three queries."""
    played = Q(state=Piece.State.PLAYED)
    counts = Piece.objects.filter(match__round_match__round=round_).aggregate(
        done=Sum("count", filter=played, default=0),
        left=Sum("count", filter=~played, default=0),
    )
    matches = Match.objects.filter(round_match__round=round_)
    total = matches.aggregate(total=Count("pk"))["total"]
    failed = matches.filter(state=Match.State.FAILED).select_related("model", "attack").order_by("pk")
    return TripleProgress(counts["done"], counts["left"], total, list(failed))
