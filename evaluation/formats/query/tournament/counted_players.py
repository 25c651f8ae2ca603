"""Counted players: the recursive top five of Brendel et al. 2020, section 3.3, with a rule for its loops.

Models are measured by the five best attacks, and these by the five best models. Starting from all attacks, the five
best models and the five best attacks are computed in turn, until a set of five attacks repeats. Usually it is the last
set, a fixed point. Otherwise the recursion is a loop, and all players of the loop count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.ordering import ranked
from evaluation.formats.query.tournament.schedule_input import TOP
from evaluation.formats.query.tournament.schedule_output import OrderedBy


@dataclass(frozen=True)
class Counted:
    """The positions of the counted players, ascending, and the length of the loop: 1 for a fixed point."""

    models: tuple[int, ...]
    attacks: tuple[int, ...]
    loop: int


def counted(
    block: NDArray[np.float64],
    models: Sequence[int],
    attacks: Sequence[int],
    by: OrderedBy,
    *,
    own: NDArray[np.bool_] | None = None,
) -> Counted:
    """Return who counts of `models` and `attacks` (positions), with distances `block` (models, attacks, samples).

    A side of fewer than five counts as a whole. `own`, (models, attacks), marks the pairs of one team, which do not
    count for the attack.
    """
    for_attacks = block if own is None else np.where(own[:, :, np.newaxis], np.nan, block)
    rows = {model: row for row, model in enumerate(models)}
    columns = {attack: column for column, attack in enumerate(attacks)}
    five_attacks = tuple(attacks)
    states: list[tuple[frozenset[int], frozenset[int]]] = []
    while True:
        against = block[:, [columns[attack] for attack in five_attacks]]
        five_models = ranked(Side.MODEL, models, against, by).players[:TOP]
        against = for_attacks[[rows[model] for model in five_models]].transpose(1, 0, 2)
        five_attacks = ranked(Side.ATTACK, attacks, against, by).players[:TOP]
        state = frozenset(five_models), frozenset(five_attacks)
        known = [number for number, (_, earlier) in enumerate(states) if earlier == state[1]]
        states.append(state)
        if known:
            # the models of a set of attacks are those that it leads to, which stand one state later
            loop = states[known[0] + 1 :]
            return Counted(
                tuple(sorted(frozenset().union(*(chosen for chosen, _ in loop)))),
                tuple(sorted(frozenset().union(*(chosen for _, chosen in loop)))),
                len(loop),
            )
