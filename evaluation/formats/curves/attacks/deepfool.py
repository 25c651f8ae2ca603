"""DeepFool (Moosavi-Dezfooli et al. 2016): repeated steps to the nearest boundary of the linearised model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, dual_norms, expanded
from evaluation.formats.curves.attacks.linearised_boundaries import difference
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge


@dataclass(frozen=True)
class DeepFool(Attack):
    """The sum of the steps so far, lengthened by the overshoot, until the model errs."""

    name: ClassVar[str] = "deepfool"
    title: ClassVar[str] = "DeepFool"
    source: ClassVar[str] = (
        "Moosavi-Dezfooli et al. 2016, with 10 candidate classes as in its authors' code; iterations: authors' code of "
        "Dong et al. 2020, whose step in Linf, as long as the one in L2, is corrected"
    )
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.OPTIMISED
    goals: ClassVar[frozenset[Goal]] = frozenset({Goal.UNTARGETED})

    iterations: int = 100
    overshoot: float = 0.02
    candidates: int = 10
    """How many classes are looked at: the right one, and those of the highest logits of the clean image."""

    def run(self, batch: AttackedBatch) -> None:
        rows, images = batch.rows, batch.images
        total = torch.zeros_like(images)
        logits = batch.model.logits(images, rows)
        ranked = logits.scatter(1, batch.labels[:, None], -torch.inf).argsort(dim=1, descending=True)
        others = ranked[:, : min(self.candidates, batch.model.classes) - 1]
        for iteration in range(self.iterations):
            # 1. the first pass also tells whether the image is done
            logits, first = batch.model.gradient(images, rows, difference(others[:, 0], batch.labels[rows]))
            reached = batch.adversarial(logits.argmax(dim=1), rows)
            batch.findings.add(images[reached], rows[reached], iteration)
            left = ~reached
            rows, images, total, others = rows[left], images[left], total[left], others[left]
            logits, first = logits[left], first[left]
            if not len(rows):
                return
            # 2. the nearest boundary of the linearised model
            step, shortest = self._step(batch, logits, first, others[:, 0], rows)
            for candidate in others.T[1:]:
                _, gradient = batch.model.gradient(images, rows, difference(candidate, batch.labels[rows]))
                other_step, length = self._step(batch, logits, gradient, candidate, rows)
                nearer = length < shortest
                step, shortest = torch.where(expanded(nearer), other_step, step), torch.minimum(shortest, length)
            # 3. the step. From the second on it is 1e-4 longer (authors' code: every one): steps that are cut off at 0
            # and 1 would only come near the boundary
            if iteration:
                known = shortest.isfinite() & (shortest > 0)
                step = step * expanded(torch.where(known, 1.0 + 1e-4 / shortest.clamp(min=1e-12), 1.0))
            total = total + step
            images = (batch.images[rows] + (1.0 + self.overshoot) * total).clamp(0.0, 1.0)
        reached = batch.reached(images, rows)
        batch.findings.add(images[reached], rows[reached], self.iterations)

    def _step(
        self, batch: AttackedBatch, logits: Tensor, gradient: Tensor, candidate: Tensor, rows: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the step to the boundary with a class, and its length in the norm."""
        gap = -difference(candidate, batch.labels[rows])(logits)
        dual = dual_norms(gradient, batch.norm)
        length = gap.abs() / dual.clamp(min=torch.finfo(gradient.dtype).tiny)
        # where the gradient vanishes there is no step; a huge one would be of no use either
        length = torch.where(dual > 0, length, torch.inf)
        step = torch.where(expanded(length.isfinite()), expanded(length) * batch.steepest(gradient), 0.0)
        return step, length
