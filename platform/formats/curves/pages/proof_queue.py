"""Proofs in the queue of the workers and of drained hosts, beside the benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from django.db.models import Count, Exists, Min, OuterRef, QuerySet

from formats.curves.models import Improvement, Proof
from pages.formats import WorkQueue
from workers.selectors import of_drained_hosts

DOUBTFUL_PROOFS = (
    "The results of a host differed from those of others, so a best known distance may be too small. It stays; "
    "a proof is listed until others are nearer."
)
"""What becomes of proofs that drained hosts verified: none is verified again."""


def with_proofs(benchmarks: WorkQueue) -> WorkQueue:
    """Return the queue of benchmarks with the proofs that wait or are being verified."""
    open_ones = Proof.objects.filter(round_entry__round__competition__archived_at=None)
    waiting = open_ones.filter(state=Proof.State.WAITING).aggregate(count=Count("pk"), since=Min("queued_at"))
    since = [each for each in (benchmarks.oldest_since, waiting["since"]) if each]
    return replace(
        benchmarks,
        noun="item",
        waiting=benchmarks.waiting + waiting["count"],
        claimed=benchmarks.claimed + Proof.objects.filter(state=Proof.State.CLAIMED).count(),
        oldest_since=min(since, default=None),
    )


def held_with_proofs(benchmarks: Mapping[str, int]) -> Mapping[str, int]:
    """Return how much each worker holds, proofs included."""
    held = Proof.objects.filter(state=Proof.State.CLAIMED).order_by()
    return Counter(benchmarks) + Counter(dict(held.values_list("worker").annotate(count=Count("pk"))))


def stuck_proofs() -> QuerySet[Proof]:
    """Return the proofs that wait after platform errors."""
    return Proof.objects.filter(Proof.STUCK, state=Proof.State.WAITING)


def doubtful_proofs() -> QuerySet[Proof]:
    """Return what hosts claimed before they were drained, and verified, where a distance of it is still best known."""
    nearer = Improvement.objects.filter(
        proof__round_entry=OuterRef("proof__round_entry"),
        proof__position__gt=OuterRef("proof__position"),
        image=OuterRef("image"),
        norm=OuterRef("norm"),
    )
    standing = Improvement.objects.filter(~Exists(nearer), proof=OuterRef("pk"))
    return Proof.objects.filter(Exists(standing), of_drained_hosts("worker"))
