"""Fast minimum-norm attack (Pintor et al. 2021): steps within a budget that follows the boundary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded, lengths
from evaluation.formats.curves.attacks.base import distance as distance_of
from evaluation.formats.curves.attacks.linearised_boundaries import dual_lengths
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm


@dataclass(frozen=True)
class FastMinimumNorm(Attack):
    """The budget of an image shrinks while it is adversarial and grows while it is not."""

    name: ClassVar[str] = "fmn"
    title: ClassVar[str] = "FMN"
    source: ClassVar[str] = "Pintor et al. 2021; step sizes as in foolbox 3.3.4"
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.OPTIMISED

    iterations: int = 100
    first_step: float = 1.0
    """The L2 length of the first step; the last has a hundredth of it, in between by a cosine."""
    gamma: float = 0.05
    """By how much of itself the budget first changes; at the end 0.001, in between by a cosine."""

    def run(self, batch: AttackedBatch) -> None:
        rows, clean, images = batch.rows, batch.images, batch.images
        budgets = torch.full((len(rows),), torch.inf, device=rows.device)
        for iteration in range(self.iterations):
            logits, gradient = batch.model.gradient(images, rows, batch.margin(rows))
            reached = batch.adversarial(logits.argmax(dim=1), rows)
            batch.findings.add(images[reached], rows[reached], iteration)
            # 1. images that are adversarial without a change leave
            left = batch.findings.distances[rows] > 0
            if not left.all():
                rows, clean, images, budgets = rows[left], clean[left], images[left], budgets[left]
                logits, gradient, reached = logits[left], gradient[left], reached[left]
            if not len(rows):
                return
            # 2. the budget
            share = 0.5 * (1.0 + math.cos(math.pi * iteration / self.iterations))
            gamma = 0.001 + (self.gamma - 0.001) * share
            gap = batch.margin(rows)(logits).abs() / dual_lengths(gradient, batch.norm)
            best = batch.findings.distances[rows]
            smaller = torch.minimum(budgets * (1.0 - gamma), best)
            # the factor leads over a boundary that single precision would only ever come near
            unknown = (distance_of(images, clean, batch.norm) + gap) * (1.0 + gamma)
            budgets = torch.where(reached, smaller, torch.where(best.isfinite(), budgets * (1.0 + gamma), unknown))
            # 3. the step, and the projection into the budget
            step = self.first_step * (0.01 + 0.99 * share)
            tiny = torch.finfo(gradient.dtype).tiny
            images = images + step * gradient / lengths(gradient).clamp(min=tiny)
            change, limits = images - clean, expanded(budgets)
            if batch.norm is Norm.LINF:
                change = change.clamp(-limits, limits)
            else:
                change = change * (limits / lengths(change).clamp(min=tiny)).clamp(max=1.0)
            images = (clean + change).clamp(0.0, 1.0)
        reached = batch.reached(images, rows)
        batch.findings.add(images[reached], rows[reached], self.iterations)
