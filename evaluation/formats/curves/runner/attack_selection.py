"""Which attacks are run against a model: those that exist for the goals and norms and know no more than it offers."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.attacks.catalogue import ATTACKS, attack_called
from evaluation.formats.curves.runner.benchmark_run import BenchmarkRun, Subject, require
from evaluation.formats.curves.threat_models import Goal, Norm


def runs_of(
    subject: Subject, names: Sequence[str] | None, goals: Sequence[Goal], norms: Sequence[Norm]
) -> tuple[list[BenchmarkRun], list[str]]:
    """Return the runs against a model, and why some are left out; None names all attacks.

    Raise `Refusal` for an unknown attack.
    """
    runs, left_out = [], []
    for entry in ATTACKS.values() if names is None else map(attack_called, names):
        for goal in goals:
            for norm in norms:
                run = BenchmarkRun(entry.by_budget, entry.by_strength, goal, norm)
                try:
                    require(run, subject)
                except Refusal as refusal:
                    left_out.append(f"left out: {refusal.problem}")
                else:
                    runs.append(run)
    return runs, left_out
