"""What is best known of a released model, as values for JSON."""

from __future__ import annotations

from typing import Any

from core.time_format import for_programs
from formats.curves.best_known.best_known_distances import BestKnown
from formats.curves.best_known.proof_comparison import NORMS
from formats.curves.stored_results import ModelStanding


def as_values(best: BestKnown) -> dict[str, Any]:
    """Return what is best known of a model. A distance that nobody has shown is null."""
    return {
        "round": best.entry.round.number,
        "norms": [
            {
                "norm": norm.value,
                "budget": best.rules.budget(norm),
                "contest": _numbers(best.contest(norm)),
                "best_known": _numbers(best.standing(norm)),
                "distances": [finite(each) for each in best.distances[norm].tolist()],
            }
            for norm in NORMS
        ],
        "attacks": [
            {
                "attack": each.attack, "goal": each.goal, "norm": each.norm,
                "median_distance": each.median_distance, "optimality": finite(best.optimality(each)),
            }
            for each in best.benchmarks
        ],
        "improvements": [
            {
                "proof": each.proof.pk, "by": each.proof.by.username, "at": for_programs(each.rows[0].at),
                "norm": each.norm.value, "images": len(each.rows),
                "before": _numbers(each.before), "after": _numbers(each.after),
            }
            for each in best.steps()
        ],
    }  # fmt: skip


def _numbers(standing: ModelStanding | None) -> dict[str, Any] | None:
    if standing is None:
        return None
    return {"accuracy": standing.accuracy, "median_distance": standing.median_distance}


def finite(value: float | None) -> float | None:
    """Return a distance for a file: None where nobody has shown any."""
    return None if value == float("inf") else value
