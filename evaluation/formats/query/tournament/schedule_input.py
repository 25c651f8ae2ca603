"""The input of a schedule: the players, their order of entry, and the results so far. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Played: TypeAlias = NDArray[np.float64]
"""(models, attacks, samples): scored distances, NaN where a triple was not played."""

TOP = 5
"""Number of players of a side that count in the end and form the core of a panel (Brendel et al. 2020, section 3.3)."""


@dataclass(frozen=True)
class ScheduledPlayer:
    """One player of a side, by its digest, and its teams: an attack is not scored by a model of its own team."""

    name: str
    teams: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Field:
    """A two-sided field over a fixed list of `samples` samples.

    `models` and `attacks` are in order of entry, earliest first; below, players are named by their positions in these
    tuples. `model_prior` and `attack_prior` are the same positions, best first, from continuous evaluation: they choose
    the first panels and eliminate no player. With `models_given` only the attacks are ranked: all models stay and
    count. `failed_audits` maps pairs (model, attack) to the sample counts after which the model's audit had failed;
    models that an organiser kept are left out.
    """

    models: tuple[ScheduledPlayer, ...]
    attacks: tuple[ScheduledPlayer, ...]
    model_prior: tuple[int, ...]
    attack_prior: tuple[int, ...]
    samples: int
    models_given: bool = False
    failed_audits: Mapping[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `ValueError` where a side is empty, a prior is not a permutation, or there are no samples."""
        for side, prior in ((self.models, self.model_prior), (self.attacks, self.attack_prior)):
            if not side:
                raise ValueError("a field needs at least one model and one attack")
            if sorted(prior) != list(range(len(side))):
                raise ValueError("a prior must name each player of its side once")
            if len({entrant.name for entrant in side}) < len(side):
                raise ValueError("a player is listed twice in the field")
        if self.samples < 1:
            raise ValueError("a field needs at least one sample")

    def own_pairs(self) -> NDArray[np.bool_]:
        """Return (models, attacks): True where both are of one team. Such a pair counts for the model only.

        In the model's minimum an attack can only hurt, so a team gains nothing by owning one. An attack could be spared
        or favoured by its own team's model, so it is scored without it. Brendel et al. 2020 (sections 3.3.1 and 4.1.4)
        count all pairs.
        """
        return np.array([[bool(model.teams & attack.teams) for attack in self.attacks] for model in self.models])
