"""What played runs took: the one measure behind every estimate of time and disk of the transfer format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet

from core import object_store
from formats.transfer.tournaments.models import AttackRun, Run

MEASURED_RUNS = 500
"""The last runs whose means are offered."""

_STORED_RUNS = 50


@dataclass(frozen=True)
class MeasuredRuns:
    """Sums over played runs of attacks, or of defences."""

    runs: int
    images: int
    seconds: float
    """Of workers, on their own hosts: with the start of the program, where the time of the claim is known."""

    @property
    def seconds_per_image(self) -> float:
        """The mean seconds of an image."""
        return self.seconds / self.images


def measured_runs(runs: QuerySet[Any], images: str) -> MeasuredRuns | None:
    """Return what the last played of `runs` took; None if none is. `images` is the column with their images."""
    played = runs.filter(state=Run.State.PLAYED, seconds__isnull=False).annotate(size=F(images)).filter(size__gt=0)
    columns = ("size", "seconds", "calibration", "claimed_at", "played_at")
    rows = list(played.order_by("-played_at", "-pk").values_list(*columns)[:MEASURED_RUNS])
    if not rows:
        return None
    seconds = 0.0
    for _, of_reference, calibration, since, until in rows:
        held = (until - since).total_seconds() if since and until else 0.0
        seconds += max(held, of_reference * (calibration or 1.0))
    return MeasuredRuns(len(rows), sum(size for size, *_ in rows), seconds)


def stored_bytes_per_image(runs: QuerySet[AttackRun]) -> float | None:
    """Return the mean size of a stored image in the last played runs; None if none is stored."""
    played = runs.filter(state=Run.State.PLAYED, images__gt=0).exclude(artefact="").order_by("-played_at", "-pk")
    return object_store.mean_size(played.values_list("images", "artefact")[:_STORED_RUNS])
