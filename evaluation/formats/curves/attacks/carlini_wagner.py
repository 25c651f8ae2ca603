"""Attack of Carlini and Wagner (2017) in L2: distance and margin in one objective, weighed by a constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded
from evaluation.formats.curves.attacks.final_search import shorten
from evaluation.formats.curves.attacks.linearised_boundaries import difference, dual_lengths
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm

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
        "Carlini and Wagner 2017; iterations, first rate, number of c: authors' code of Dong et al. 2020 for strength "
        "(its 20 iterations at rate 0.001 for budgets move no value by more than 0.01). Changed: the rate falls, the "
        "first c is that of the linearised model, early abort after quarters of the iterations, images that gain "
        "nothing leave, bisection at the end"
    )
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.OPTIMISED
    norms: ClassVar[frozenset[Norm]] = frozenset({Norm.L2})

    iterations: int = 100
    """With each c."""
    rate: float = 0.01
    first_c: float = 2.0
    """Times the c that would be enough if the model were linear."""
    least_c: float = 1e-6
    most_c: float = 1e6
    growths: int = 5
    """How often c is multiplied by 10 at most, until an adversarial is found."""
    bisections: int = 10
    """Of the interval in which the smallest successful c lies."""
    patience: int = 2
    """After so many bisections in all without the least gain, once some c was too small, an image leaves."""
    least_gain: float = 1e-3
    """Of the distance."""
    least_fall: float = 0.01
    """Of the objective in a quarter of the iterations: an image whose objective falls by less leaves this c."""
    last_rate: float = 0.01
    """Of the rate: in between it falls by a cosine. A constant rate jumps over boundaries that are near."""
    final_halvings: int = 10
    """Of the segment between the nearest adversarial image and the clean one."""

    def run(self, batch: AttackedBatch) -> None:
        # 1. c grows until it is large enough
        nearest, c = self._linearised(batch)
        low, high = torch.zeros_like(c), torch.full_like(c, torch.inf)
        rows = batch.rows[batch.findings.distances > 0]
        for _ in range(self.growths + 1):
            found = self._optimise(batch, rows, c[rows])
            high[rows[found]] = c[rows[found]]
            rows = rows[~found]
            low[rows] = c[rows]
            c[rows] *= 10.0
        # 2. and is bisected, until two have not brought the image nearer; the margin of every second is that to the
        # nearest class alone, to leave local minima
        stale = torch.zeros_like(batch.rows)
        for number in range(self.bisections):
            before = batch.findings.distances.clone()
            rows = (high.isfinite() & (before > 0) & (stale < self.patience)).nonzero()[:, 0]
            # between two powers of ten the middle is that of their logarithms
            c = torch.where(low > 0, (low * high).sqrt(), high / 2.0)
            towards = nearest if batch.goal is Goal.UNTARGETED and number % 2 == 0 else None
            found = self._optimise(batch, rows, c[rows], towards)
            high[rows[found]] = c[rows[found]]
            low[rows[~found]] = c[rows[~found]]
            # a c far above the smallest one brings little, but a smaller one may bring much
            gained = (batch.findings.distances < (1.0 - self.least_gain) * before) | (low == 0)
            stale = torch.where(gained, stale, stale + 1)
        shorten(batch, batch.rows, self.final_halvings, self.iterations)

    def _linearised(self, batch: AttackedBatch) -> tuple[Tensor, Tensor]:
        """Return for each image the class with the nearest linearised boundary, and the c that leads there, (n,).

        On a linear model, distance^2 + c * gap is smallest at the boundary from c = 2 gap / |gradient|^2 on. For the
        targeted goal the class is the target, and the gap that to the highest other logit.
        """
        classes = (batch.labels if batch.targets is None else batch.targets).clone()
        shortest, c = torch.full_like(batch.budgets, torch.inf), torch.full_like(batch.budgets, self.first_c)
        rows = batch.rows
        for step in range(1, batch.model.classes if batch.targets is None else 2):
            other = classes if batch.targets is not None else (batch.labels + step) % batch.model.classes
            loss = batch.margin(rows) if batch.targets is not None else difference(other[rows], batch.labels[rows])
            logits, gradient = batch.model.gradient(batch.images[rows], rows, loss)
            reached = batch.adversarial(logits.argmax(dim=1), rows)
            batch.findings.add(batch.images[rows[reached]], rows[reached], 0)
            gap, size = loss(logits).abs(), dual_lengths(gradient, Norm.L2)
            rows, gap, size = rows[~reached], gap[~reached], size[~reached]
            nearer = gap / size < shortest[rows]
            kept = rows[nearer]
            shortest[kept], classes[kept] = (gap / size)[nearer], other[kept]
            c[kept] = self.first_c * (2.0 * gap / size.square())[nearer]
        return classes, c.clamp(self.least_c, self.most_c)

    def _optimise(self, batch: AttackedBatch, rows: Tensor, c: Tensor, towards: Tensor | None = None) -> Tensor:
        """Return for which of the rows an adversarial was found with this c, bool (n,).

        The margin is that to the goal, or to the classes `towards` (of all rows) alone. An image whose objective fell
        too little in a quarter of the iterations leaves.
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
            squashed = variable.tanh()
            images = (squashed * (0.5 / _INSIDE)).add_(0.5).clamp_(0.0, 1.0)
            loss = batch.margin(rows) if towards is None else difference(towards[rows], batch.labels[rows])
            logits, slope = batch.model.gradient(images, rows, loss)
            reached = batch.adversarial(logits.argmax(dim=1), rows)
            batch.findings.add(images[reached], rows[reached], iteration)
            succeeded[place[reached]] = True
            if iteration == self.iterations:
                break
            # 1. images whose objective no longer falls leave; so do those that are adversarial without a change
            margin, change = loss(logits), images - clean
            objective = change.flatten(1).square().sum(dim=1) + c * (-margin).clamp(min=0.0)
            stays = batch.findings.distances[rows] > 0
            if iteration % max(self.iterations // 4, 10) == 0:
                stays &= objective <= (1.0 - self.least_fall) * before
                before = objective
            if not stays.all():
                rows, place, clean, c, before = rows[stays], place[stays], clean[stays], c[stays], before[stays]
                variable, mean, square = variable[stays], mean[stays], square[stays]
                squashed, change, slope, margin = squashed[stays], change[stays], slope[stays], margin[stays]
            # 2. one step of Adam in the variable, in place: on small networks these sums cost as much as the network
            weight = expanded(torch.where(margin < 0, c, 0.0))
            gradient = change.mul_(2.0).sub_(slope * weight).mul_(squashed.square_().neg_().add_(1.0))
            gradient.mul_(0.5 / _INSIDE)
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            steps = iteration + 1
            share = 0.5 * (1.0 + math.cos(math.pi * iteration / self.iterations))
            rate = self.rate * (self.last_rate + (1.0 - self.last_rate) * share)
            length = (square / (1.0 - 0.999**steps)).sqrt_().add_(1e-8)
            variable.addcdiv_(mean, length, value=-rate / (1.0 - 0.9**steps))
        return succeeded
