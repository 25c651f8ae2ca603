"""Natural evolution strategies (Ilyas et al. 2018): projected steps along gradients estimated from Gaussian samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from evaluation.formats.curves.attacks.base import AttackedBatch
from evaluation.formats.curves.attacks.estimated_gradient import EstimatedGradient, Plateau, Rule


@dataclass(frozen=True)
class Nes(EstimatedGradient):
    """Steps along the steepest direction, whose length is halved where the margin has not risen for a while."""

    name: ClassVar[str] = "nes"
    title: ClassVar[str] = "NES"
    source: ClassVar[str] = "Ilyas et al. 2018; parameters: authors' code of Dong et al. 2020"

    least_step: float = 0.1
    """Of the first step: no step is shorter."""
    plateau: int = 20
    """The length is halved if the mean margin of a draw is below that of so many draws before, itself included."""

    def directions(self, batch: AttackedBatch, rows: Tensor, count: int) -> Tensor:
        return batch.normal(rows, count, *batch.images.shape[1:])

    def rule(self, batch: AttackedBatch) -> Rule:
        first = self.step(batch)
        return Plateau(batch, first, self.least_step * first, self.plateau)
