"""What played benchmarks took: the one measure behind every estimate of time and disk of the curves format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from core import object_store
from evaluation.formats.curves.rules import ListedAttack
from formats.curves.models import Benchmark

MEASURED_BENCHMARKS = 500
"""The last benchmarks whose means are offered."""

_STORED_BENCHMARKS = 50


@dataclass(frozen=True)
class MeasuredBenchmarks:
    """Sums over played benchmarks: the seconds of workers, and the queries that they might ask at most."""

    benchmarks: int
    queries: int
    seconds: float

    @property
    def seconds_per_query(self) -> float:
        """The mean seconds of a query, of an image, that the rules allow."""
        return self.seconds / self.queries


def most_queries(attacks: Iterable[ListedAttack], images: int) -> int:
    """Return the queries, or iterations of white-box attacks, that benchmarks of a model may use on so many images."""
    return images * sum(attack.queries for attack in attacks)


def measured_benchmarks(benchmarks: QuerySet[Benchmark]) -> MeasuredBenchmarks | None:
    """Return what the last played of `benchmarks` took; None if none is."""
    played = benchmarks.filter(state=Benchmark.State.PLAYED, played_at__isnull=False, claimed_at__isnull=False)
    columns = ("sample_set__count", "queries", "claimed_at", "played_at")
    rows = list(played.order_by("-played_at", "-pk").values_list(*columns)[:MEASURED_BENCHMARKS])
    queries = sum(images * each for images, each, _, _ in rows)
    seconds = sum((until - since).total_seconds() for _, _, since, until in rows)
    return MeasuredBenchmarks(len(rows), queries, seconds) if queries else None


def stored_bytes_per_image(benchmarks: QuerySet[Benchmark]) -> float | None:
    """Return the mean size of the stored result of an image in the last played benchmarks; None if none is stored."""
    played = benchmarks.filter(state=Benchmark.State.PLAYED).exclude(result="").order_by("-played_at", "-pk")
    return object_store.mean_size(played.values_list("sample_set__count", "result")[:_STORED_BENCHMARKS])
