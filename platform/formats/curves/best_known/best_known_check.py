"""Checks what is best known against the proofs that it follows from."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from competitions.models import Competition
from core.data_difference import Difference
from core.errors import Fault
from evaluation.formats.curves.threat_models import Norm
from formats.curves.best_known.best_known_distances import best_known
from formats.curves.best_known.proof_comparison import lowered_by
from formats.curves.models import Improvement, Proof
from rounds.models import RoundEntry


def wrong_improvements(competitions: QuerySet[Competition]) -> Iterator[Difference]:
    """Yield the proofs whose stored improvements do not follow from their images and verdicts, in their order.

    Rows are never repaired: they are a history that people have seen.
    """
    proven = RoundEntry.objects.filter(round__competition__in=competitions, proofs__isnull=False).distinct()
    for entry in proven.select_related("round__rules__competition", "round__sample_set").order_by("pk"):
        try:
            yield from _wrong(entry)
        except Fault as fault:
            yield Difference(f"{entry}", f"what is best known of it cannot be computed: {fault}")


def _wrong(entry: RoundEntry) -> Iterator[Difference]:
    best = {norm: each.copy() for norm, each in best_known(entry).start.distances.items()}
    proofs = entry.proofs.select_related("round_entry__round__sample_set").order_by("position", "pk")
    for proof in proofs:
        counts = proof.outcome == Proof.Outcome.VERIFIED and proof.position is not None
        expected = lowered_by(proof, proof.verdicts, best) if counts else []
        stored = Improvement.objects.filter(proof=proof).order_by("pk").values_list("image", "norm", "distance")
        if list(stored) != [(each.image, each.norm.value, each.distance) for each in expected]:
            yield Difference(f"{proof}", "its improvements do not follow from its images and verdicts")
        for each in expected:
            best[Norm(each.norm)][each.image] = each.distance
