"""The distance that counts for a sample, by its outcome."""

from __future__ import annotations

from evaluation.formats.query.results import Outcome


def scored_distance(outcome: Outcome, distance: float, worst_case: float) -> float:
    """Return the distance that counts: 0 where the clean image met the criterion, the worst case where no adversarial
    was found, else the adversarial's own distance, at most the worst case."""
    if outcome is Outcome.CLEAN_WRONG:
        return 0.0
    if outcome is Outcome.FAILED:
        return worst_case
    return min(distance, worst_case)
