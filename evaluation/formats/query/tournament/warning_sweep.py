"""The sweep at the end of a round: would an attack that does not count have broken a winning model? It scores nothing.

By the paper's definition an attack that is strong against one model only does not count, so it can break even a winner.
The sweep makes that public. Eliminated attacks play for it; of attacks in the last stage that do not count, their first
samples of that stage are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.final_ranking import counted_against
from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import Plan

SAMPLES = 8
"""Number of samples, from the first, on which an eliminated attack meets a winning model."""


@dataclass(frozen=True)
class Warned:
    """An attack that does not count and would have broken a winning model: it is closer than all counted attacks on
    `nearer` of `samples` samples.

    `median` is the model's score on these samples if the attack counted, too."""

    model: str
    attack: str
    nearer: int
    samples: int
    median: float


def swept(field: Field, plan: Plan) -> list[tuple[int, int]]:
    """Return the pairs (model, attack) of the sweep: the five best models, each against all eliminated attacks.

    Models are in the order of the result, attacks in the order of entry.
    """
    if plan.result is None:
        raise ValueError("the tournament has no result yet")
    stayed = {decision.name for decision in plan.stages[-1].decisions if decision.side is Side.ATTACK}
    cut = [place for place, attack in enumerate(field.attacks) if attack.name not in stayed]
    positions = {model.name: place for place, model in enumerate(field.models)}
    return [(positions[name], one) for name in plan.result.best_models for one in cut]


def sweep_samples(samples: int) -> int:
    """Return the number of samples of the sweep in a round of `samples`."""
    return min(SAMPLES, samples)


def warnings(field: Field, plan: Plan, played: Played) -> tuple[Warned, ...]:
    """Return the attacks that were closer than all counted ones on more than half of the samples, after the sweep.

    Models are in the order of the result, attacks in the order of entry.
    """
    if plan.result is None:
        raise ValueError("the tournament has no result yet")
    count, last = sweep_samples(field.samples), plan.stages[-1]
    others = [place for place, attack in enumerate(field.attacks) if attack.name not in last.counted_attacks]
    positions = {model.name: place for place, model in enumerate(field.models)}
    found = []
    for model in [positions[name] for name in plan.result.best_models]:
        counted = counted_against(field, last, Side.MODEL, field.models[model].name)
        nearest = played[model, counted, :count].min(axis=0)
        for attack in others:
            distances = played[model, attack, :count]
            nearer = int(np.count_nonzero(distances < nearest))
            if 2 * nearer > count:
                median = float(np.median(np.minimum(distances, nearest)))
                found.append(Warned(field.models[model].name, field.attacks[attack].name, nearer, count, median))
    return tuple(found)
