"""What a schedule is asked about: who plays, in which order they came, and what was played so far. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Played: TypeAlias = NDArray[np.float64]
"""(models, attacks, samples): scored distances, NaN where a triple was not played."""

TOP = 5
"""The number of counted players of a side, and the core of a panel (Brendel et al. 2020, section 3.3)."""


@dataclass(frozen=True)
class Entrant:
    """One player of a side, by its digest, and the teams that own it: an attack is not scored by a model of theirs."""

    name: str
    teams: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Field:
    """A two-sided field over a fixed list of `samples` samples.

    `models` and `attacks` stand in order of entry, earliest first; positions in these tuples name them below.
    `model_prior` and `attack_prior` are the same positions, best first, from continuous evaluation: they seat the first
    panel and eliminate nobody. With `models_given` only the attacks are ranked: every model is in, and counts.
    `failed_audits` names, for pairs (model, attack), the numbers of samples on whose first so many the model's audit
    did not pass; models that an organiser kept are not among them.
    """

    models: tuple[Entrant, ...]
    attacks: tuple[Entrant, ...]
    model_prior: tuple[int, ...]
    attack_prior: tuple[int, ...]
    samples: int
    models_given: bool = False
    failed_audits: Mapping[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `ValueError` where a side is empty, a prior is no permutation, or there is no sample."""
        for side, prior in ((self.models, self.model_prior), (self.attacks, self.attack_prior)):
            if not side:
                raise ValueError("a field needs at least one model and one attack")
            if sorted(prior) != list(range(len(side))):
                raise ValueError("a prior must name each player of its side once")
            if len({entrant.name for entrant in side}) < len(side):
                raise ValueError("a player is in the field twice")
        if self.samples < 1:
            raise ValueError("a field needs at least one sample")

    def own_pairs(self) -> NDArray[np.bool_]:
        """(models, attacks): whether both are of one team. Such a pair is played, and counts for the model alone.

        In the model's minimum an attack can only hurt, so nobody gains by owning one; an attack could be spared or
        favoured by its own model, so it is scored without it. Brendel et al. 2020
        (sections 3.3.1 and 4.1.4) count all pairs.
        """
        return np.array([[bool(model.teams & attack.teams) for attack in self.attacks] for model in self.models])
