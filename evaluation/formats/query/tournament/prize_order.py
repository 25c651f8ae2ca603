"""The order in which players of the last stage win prizes, compared on common opponents. Pure.

A team may own a model and an attack, and its attack may spare its own model. In the model's minimum that is worth as
much as not meeting the attack. So where a team of one of two neighbours owns a counted opponent, the two are compared
again, by the paper's score against the counted opponents of neither's team.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import Stage


def prize_order(side: Side, field: Field, last: Stage, played: Played, order: Sequence[str]) -> tuple[str, ...]:
    """Return the players of one side in the order of prizes, given their `order` in the stage `last`, best first.

    From the best on, each player moves ahead of its neighbour as long as it is better on their common opponents.
    """
    compared = _Compared(side, field, last, played)
    settled: list[str] = []
    for name in order:
        place = len(settled)
        while place and compared.overtakes(name, settled[place - 1]):
            place -= 1
        settled.insert(place, name)
    return tuple(settled)


class _Compared:
    """Comparison of two players of one side on the counted opponents of a stage that are of neither's team."""

    def __init__(self, side: Side, field: Field, last: Stage, played: Played) -> None:
        self._side = side
        own, distances = field.own_pairs(), played
        counted = last.counted_attacks
        players, rivals = field.models, field.attacks
        if side is Side.ATTACK:
            own, distances = own.T, played.transpose(1, 0, 2)
            counted = last.counted_models
            players, rivals = rivals, players
        self._own, self._distances = own, distances
        self._rows = {player.name: row for row, player in enumerate(players)}
        positions = {rival.name: column for column, rival in enumerate(rivals)}
        self._counted = [positions[name] for name in counted]

    def overtakes(self, name: str, ahead: str) -> bool:
        """Return True if `name` is better than `ahead`, where a team of one of them owns a counted opponent."""
        own = self._own[self._rows[name]] | self._own[self._rows[ahead]]
        common = [rival for rival in self._counted if not own[rival]]
        if not common or len(common) == len(self._counted):
            return False
        mine, theirs = (self._value(player, common) for player in (name, ahead))
        return mine > theirs if self._side is Side.MODEL else mine < theirs

    def _value(self, name: str, opponents: Sequence[int]) -> float:
        distances = self._distances[self._rows[name], opponents]
        # Brendel et al. 2020, eq. 2 and 3 for a model, 4 and 5 for an attack
        return float(np.median(distances.min(axis=0) if self._side is Side.MODEL else distances))
