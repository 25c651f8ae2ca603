"""Simultaneous perturbation stochastic approximation (Uesato et al. 2018): Adam on estimated gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from evaluation.formats.curves.attacks.base import AttackedBatch
from evaluation.formats.curves.attacks.estimated_gradient import Adam, EstimatedGradient, Rule


@dataclass(frozen=True)
class Spsa(EstimatedGradient):
    """Steps of Adam along gradients that are estimated from samples with all values changed by +sigma or -sigma.

    A step is the rate of Adam: how far a value moves, in L2 too.
    """

    name: ClassVar[str] = "spsa"
    title: ClassVar[str] = "SPSA"
    source: ClassVar[str] = "Uesato et al. 2018; parameters: authors' code of Dong et al. 2020"

    relative_step: float = 0.3
    first_decay: float = 0.9
    second_decay: float = 0.999
    tiny: float = 1e-9

    def directions(self, batch: AttackedBatch, rows: Tensor, count: int) -> Tensor:
        return 1.0 - 2.0 * (batch.uniform(rows, count, *batch.images.shape[1:]) < 0.5).float()

    def rule(self, batch: AttackedBatch) -> Rule:
        return Adam(batch, self.step(batch), self.first_decay, self.second_decay, self.tiny)
