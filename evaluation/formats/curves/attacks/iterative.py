"""Basic and momentum iterative methods (Kurakin et al. 2017; Dong et al. 2018), and PGD (Madry et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, Batch, expanded
from evaluation.formats.curves.threat_models import Capability, Knowledge


@dataclass(frozen=True)
class Bim(Attack):
    """Steps along the steepest direction, each projected into the budget."""

    name: ClassVar[str] = "bim"
    title: ClassVar[str] = "BIM"
    source: ClassVar[str] = "Kurakin et al. 2017; step of 1.5 budget / iterations: authors' code of Dong et al. 2020"
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.CONSTRAINED

    iterations: int = 10
    step: float | None = None
    """Length of a step; None: 1.5 times the budget, divided by the iterations."""
    decay: float = 0.0
    """Of the momentum."""

    def run(self, batch: Batch) -> None:
        lengths = 1.5 * batch.budgets / self.iterations if self.step is None else self.step + 0.0 * batch.budgets
        rows, images = batch.rows, self.start(batch)
        momentum = torch.zeros_like(images)
        for iteration in range(self.iterations + 1):
            # 1. the pass that gives the gradient of a step also tells whether the steps before reached the goal
            logits, gradient = batch.model.gradient(images, rows, batch.loss(rows))
            reached = batch.adversarial(logits.argmax(dim=1), rows)
            batch.findings.add(images[reached], rows[reached], iteration)
            if iteration == self.iterations:
                break
            # 2. images that are done leave
            left = ~reached
            rows, images, gradient, momentum = rows[left], images[left], gradient[left], momentum[left]
            if not len(rows):
                break
            # 3. one step
            size = expanded(gradient.abs().flatten(1).sum(dim=1)).clamp(min=torch.finfo(gradient.dtype).tiny)
            momentum = self.decay * momentum + gradient / size
            images = batch.project(images + expanded(lengths[rows]) * batch.steepest(momentum), rows)

    def start(self, batch: Batch) -> Tensor:
        """Return the first images: the clean ones."""
        return batch.images


@dataclass(frozen=True)
class Mim(Bim):
    """BIM with momentum."""

    name: ClassVar[str] = "mim"
    title: ClassVar[str] = "MIM"
    source: ClassVar[str] = "Dong et al. 2018; parameters: authors' code of Dong et al. 2020"

    decay: float = 1.0
