"""What played pieces took: the one measure behind every estimate of time and disk of the query format."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet, Sum

from core import object_store
from formats.query.matches.models import Piece, SampleResult
from formats.query.matches.selectors import RECENT_PIECES


@dataclass(frozen=True)
class MeasuredSpeed:
    """Sums over played pieces; what is divided is a mean in which a sample, or a query, weighs as it does in them."""

    pieces: int
    samples: int
    queries: int
    seconds: float
    """From the first image to the last verdict of each piece."""
    start_seconds: float
    """From the claim of each piece to its first image, and from its last verdict to its commit."""
    model_share: float | None
    """The share of `seconds` in which the model answered; None where it was not recorded."""
    audited: int
    """Images that a freshly started model was asked about after the matches."""
    audited_pieces: int
    """The pieces that were audited so."""

    @property
    def seconds_per_sample(self) -> float:
        """The mean seconds of a sample, without starts."""
        return self.seconds / self.samples


def measured_speed(pieces: QuerySet[Piece], *, most: int = RECENT_PIECES) -> MeasuredSpeed | None:
    """Return what the last played of `pieces` took, at most so many; None if none is played."""
    played = pieces.filter(state=Piece.State.PLAYED, count__gt=0, seconds__isnull=False)
    columns = ("pk", "count", "seconds", "model_seconds", "claimed_at", "played_at", "audit")
    rows = list(played.order_by("-played_at", "-pk").values_list(*columns)[:most])
    if not rows:
        return None
    asked = SampleResult.objects.filter(piece__in=[row[0] for row in rows]).aggregate(sum=Sum("queries"))["sum"]
    split = [(model, seconds) for _, _, seconds, model, *_ in rows if model is not None and seconds]
    audits = [audit.get("fresh", 0) + audit.get("alone", 0) for *_, audit in rows]
    return MeasuredSpeed(
        pieces=len(rows),
        samples=sum(count for _, count, *_ in rows),
        queries=asked or 0,
        seconds=sum(seconds or 0.0 for _, _, seconds, *_ in rows),
        start_seconds=sum(_beside(seconds or 0.0, since, until) for _, _, seconds, _, since, until, _ in rows),
        model_share=sum(model for model, _ in split) / sum(seconds or 0.0 for _, seconds in split) if split else None,
        audited=sum(audits),
        audited_pieces=sum(images > 0 for images in audits),
    )


def stored_bytes_per_sample(pieces: QuerySet[Piece]) -> float | None:
    """Return the mean size of images and trace of a sample in the last played pieces; None if none is stored."""
    played = pieces.filter(state=Piece.State.PLAYED, count__gt=0).exclude(artefact="")
    rows = played.order_by("-played_at", "-pk").values_list("count", "artefact")
    return object_store.mean_size(rows[:RECENT_PIECES])


def _beside(seconds: float, since: datetime | None, until: datetime | None) -> float:
    """Return the time from the claim of a piece to its commit beside its `seconds`."""
    return max(0.0, (until - since).total_seconds() - seconds) if since and until else 0.0
