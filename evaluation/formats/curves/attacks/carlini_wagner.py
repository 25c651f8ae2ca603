"""Attack of Carlini and Wagner (2017) in L2: distance and margin in one objective, weighed by a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm

_INSIDE = 1.0 - 1e-6
"""Black and white would lie at infinity in the variable of the optimisation."""


@dataclass(frozen=True)
class CarliniWagner(Attack):
    """Adam on squared distance + c * max(-margin, 0), for several c of each image.

    The strength is the number of iterations with one c: the trace has the nearest image found within so many, of all c.
    """

    name: ClassVar[str] = "cw"
    title: ClassVar[str] = "C&W"
    source: ClassVar[str] = (
        "Carlini and Wagner 2017, early abort as in their code; search over c, iterations and rate: authors' code of "
        "Dong et al. 2020 for strength. Its 20 iterations at rate 0.001 for budgets move no value by more than 0.01"
    )
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.OPTIMISED
    norms: ClassVar[frozenset[Norm]] = frozenset({Norm.L2})

    iterations: int = 100
    """With each c."""
    rate: float = 0.01
    first_c: float = 1.0
    growths: int = 5
    """How often c is multiplied by 10 at most, until an adversarial is found."""
    bisections: int = 10
    """Of the interval in which the smallest successful c lies."""

    def run(self, batch: AttackedBatch) -> None:
        low = torch.zeros(len(batch.images), device=batch.images.device)
        high = torch.full_like(low, torch.inf)
        c = torch.full_like(low, self.first_c)
        # 1. c grows until it is large enough
        rows = batch.rows
        for _ in range(self.growths + 1):
            found = self._optimise(batch, rows, c[rows])
            high[rows[found]] = c[rows[found]]
            rows = rows[~found]
            low[rows] = c[rows]
            c[rows] *= 10.0
        # 2. and is bisected
        for _ in range(self.bisections):
            rows = (high.isfinite() & (batch.findings.distances > 0)).nonzero()[:, 0]
            c = (low + high) / 2.0
            found = self._optimise(batch, rows, c[rows])
            high[rows[found]] = c[rows[found]]
            low[rows[~found]] = c[rows[~found]]

    def _optimise(self, batch: AttackedBatch, rows: Tensor, c: Tensor) -> Tensor:
        """Return for which of the rows an adversarial was found with this c, bool (n,).

        An image whose objective fell by less than 0.01 % in a tenth of the iterations, or in 50, leaves.
        """
        succeeded = torch.zeros_like(rows, dtype=torch.bool)
        place = torch.arange(len(rows), device=rows.device)
        clean = batch.images[rows]
        variable = torch.atanh((2.0 * clean - 1.0) * _INSIDE)
        mean, square = torch.zeros_like(variable), torch.zeros_like(variable)
        before = torch.full_like(c, torch.inf)
        for iteration in range(self.iterations + 1):
            if not len(rows):
                break
            images = (0.5 * (variable.tanh() / _INSIDE + 1.0)).clamp(0.0, 1.0)
            logits, slope = batch.model.gradient(images, rows, batch.margin(rows))
            reached = batch.adversarial(logits.argmax(dim=1), rows)
            batch.findings.add(images[reached], rows[reached], iteration)
            succeeded[place[reached]] = True
            if iteration == self.iterations:
                break
            # 1. images whose objective no longer falls leave; so do those that are adversarial without a change
            margin = batch.margin(rows)(logits)
            objective = (images - clean).flatten(1).square().sum(dim=1) + c * (-margin).clamp(min=0.0)
            stays = batch.findings.distances[rows] > 0
            if iteration % max(self.iterations // 10, 50) == 0:
                stays &= objective <= 0.9999 * before
                before = objective
            if not stays.all():
                rows, place, clean, c, before = rows[stays], place[stays], clean[stays], c[stays], before[stays]
                variable, mean, square = variable[stays], mean[stays], square[stays]
                images, slope, margin = images[stays], slope[stays], margin[stays]
            # 2. one step of Adam in the variable
            weight = expanded(torch.where(margin < 0, c, 0.0))
            gradient = (2.0 * (images - clean) - weight * slope) * (0.5 / _INSIDE) * (1.0 - variable.tanh().square())
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.999 * square + 0.001 * gradient.square()
            steps = iteration + 1
            variable = variable - self.rate * (mean / (1.0 - 0.9**steps)) / (
                (square / (1.0 - 0.999**steps)).sqrt() + 1e-8
            )
        return succeeded
