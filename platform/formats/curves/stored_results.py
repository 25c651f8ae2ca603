"""Adapter: reads the stored results of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from core import object_store
from core.errors import Fault, Refusal
from evaluation.formats.curves.bundle import VERSION
from evaluation.formats.curves.bundle.size_check import check_size
from evaluation.formats.curves.bundle.verify import commitment_to_field, ranking_value, standing_lines
from evaluation.formats.curves.results import Booleans, Floats
from evaluation.formats.curves.runner.results_file import decode
from evaluation.formats.curves.scoring.curves import accuracy_by_strength
from evaluation.formats.curves.scoring.standings import ModelStanding, budgets_of, curve_of, standing_of

__all__ = [
    "VERSION", "CurveOutcome", "ModelStanding", "budgets_of", "check_size", "commitment_to_field", "curve_of",
    "outcome_of", "ranking_value", "standing_lines", "standing_under",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class CurveOutcome:
    """What curves need of stored results."""

    right: Booleans
    distances: Floats
    strengths: Sequence[int]
    by_strength: Sequence[float]
    fixed_budget: float

    def __post_init__(self) -> None:
        self.right.setflags(write=False)
        self.distances.setflags(write=False)


@lru_cache(maxsize=2048)
def outcome_of(digest: str) -> CurveOutcome:
    """Return the curves of stored results. Raise `Fault` if they are missing or damaged."""
    try:
        results = decode(object_store.get(digest))
    except Refusal as refusal:
        raise Fault(f"the results {digest} cannot be read: {refusal.problem}") from refusal
    return CurveOutcome(
        right=results.right,
        distances=results.distances,
        strengths=results.strengths.tolist(),
        by_strength=accuracy_by_strength(results).tolist(),
        fixed_budget=results.fixed_budget,
    )


def standing_under(digests: Sequence[str], budget: float) -> ModelStanding:
    """Return what follows from the stored results of all attacks of a threat model."""
    outcomes = [outcome_of(digest) for digest in digests]
    return standing_of([(each.right, each.distances) for each in outcomes], budget)
