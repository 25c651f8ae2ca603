"""Results for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.formats.curves.results import Results
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm, ThreatModel


def results_of(
    distances: Sequence[float],
    *,
    attack: str = "bim",
    knowledge: Knowledge = Knowledge.WHITE_BOX,
    goal: Goal = Goal.UNTARGETED,
    right: Sequence[bool] | None = None,
    traces: Sequence[Sequence[float]] | None = None,
    tried: Sequence[Sequence[tuple[float, bool]]] | None = None,
) -> Results:
    """Return results of one attack in Linf with the fixed budget 0.1; traces are at the strengths 1 and 10.

    Unless told otherwise, its search tried one budget, which was enough for all images.
    """
    count = len(distances)
    labels = np.arange(count) % 3
    tries = [[(1.0, True)]] * count if tried is None else tried
    wrong = ~np.array([True] * count if right is None else right)
    return Results(
        threat_model=ThreatModel(goal, Capability.CONSTRAINED, Norm.LINF, knowledge),
        attack=attack,
        parameters={"seed": 0},
        model="model",
        model_digest="sha256:1",
        dataset="test",
        dataset_digest="sha256:2",
        numbers=np.arange(count),
        labels=labels,
        targets=np.full(count, -1),
        clean_labels=np.where(wrong, labels + 1, labels),
        distances=np.array(distances, float),
        tried_budgets=np.array([[budget for budget, _ in row] for row in tries], float),
        tried_found=np.array([[found for _, found in row] for row in tries], bool),
        fixed_budget=0.1,
        strengths=np.array([1, 10]),
        traces=np.array(traces if traces is not None else [[distance] * 2 for distance in distances], float),
        queries=np.full(count, 7),
        gradients=np.full(count, 5),
    )
