"""Zeroth-order optimisation (Chen et al. 2017): the attack of Carlini and Wagner with gradients of some coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch
from evaluation.formats.curves.attacks.query_limit import affordable, ask, in_pieces, rows_to_attack
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm


@dataclass(frozen=True)
class Zoo(Attack):
    """Adam on some random coordinates at a time of squared distance + c * max(-margin, 0), for several c of each image.

    Each iteration asks for the image itself, which is the check of success, and for two images of each coordinate. It
    moves values, not the variable of tanh, as the authors do where queries are few.
    """

    name: ClassVar[str] = "zoo"
    title: ClassVar[str] = "ZOO (coordinates)"
    source: ClassVar[str] = (
        "Chen et al. 2017, ZOO-ADAM: 128 coordinates, differences of 0.0001, 1000 iterations with each c, 9 bisections "
        "and rate 0.01 as for CIFAR-10; first c as of C&W, and abort after 10 iterations: chosen for 20,000 queries. "
        "Without hierarchical attack and importance sampling, which are for large images"
    )
    knowledge: ClassVar[Knowledge] = Knowledge.SCORE
    capability: ClassVar[Capability] = Capability.OPTIMISED
    norms: ClassVar[frozenset[Norm]] = frozenset({Norm.L2})

    coordinates: int = 128
    """Of each iteration."""
    difference: float = 1e-4
    iterations: int = 1000
    """With each c."""
    rate: float = 0.01
    first_decay: float = 0.9
    second_decay: float = 0.999
    patience: int = 10
    """After so many iterations without a smaller objective, the next c is tried."""
    first_c: float = 1.0
    bisections: int = 9
    """Of c; it is multiplied by 10 until an adversarial is found."""

    def fails_with_rounding(self, norm: Norm) -> str:
        return "estimates gradients from changes that rounding removes"

    def run(self, batch: AttackedBatch) -> None:
        rows = rows_to_attack(batch)
        low = torch.zeros(len(batch.images), device=batch.images.device)
        high = torch.full_like(low, torch.inf)
        c = torch.full_like(low, self.first_c)
        for _ in range(1 + self.bisections):
            found = self._optimise(batch, rows, c)
            high[rows[found]] = c[rows[found]]
            low[rows[~found]] = c[rows[~found]]
            c = torch.where(high.isfinite(), (low + high) / 2.0, 10.0 * c)

    def _optimise(self, batch: AttackedBatch, rows: Tensor, c: Tensor) -> Tensor:
        """Return for which of the rows an adversarial was found with this c (of all rows), bool (n,)."""
        succeeded = torch.zeros(len(batch.images), dtype=torch.bool, device=batch.images.device)
        state = _ZooState(batch.images)
        best, stale = torch.full_like(c, torch.inf), torch.zeros_like(batch.rows)
        left, coordinates = rows, min(self.coordinates, batch.images[0].numel())
        for _ in range(self.iterations):
            left = affordable(batch, left[stale[left] < self.patience], 1 + 2 * coordinates)
            if not len(left):
                break
            for piece in in_pieces(left, 1 + 2 * coordinates):
                chosen = batch.uniform(piece, batch.images[0].numel()).topk(coordinates, dim=1).indices
                reached, objective, slope = self._slope(batch, state.values, piece, chosen, c[piece])
                spent = batch.model.queries[piece[reached]]
                batch.findings.add(state.images(piece)[reached], piece[reached], spent)
                succeeded[piece[reached]] = True
                stale[piece] = torch.where(objective < best[piece], 0, stale[piece] + 1)
                best[piece] = torch.minimum(objective, best[piece])
                state.step(piece, chosen, slope, self)
        last = affordable(batch, rows, 1)
        succeeded[last[ask(batch, state.images(last), last)]] = True
        return succeeded[rows]

    def _slope(
        self, batch: AttackedBatch, values: Tensor, rows: Tensor, chosen: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return whether the images reach the goal, (n,), their objectives, (n,), and the gradients of the objectives.

        The gradients are of the chosen coordinates, (n, coordinates).
        """
        count, here = chosen.shape[1], values[rows]
        own = here.gather(1, chosen)
        raised, lowered = (own + self.difference).clamp(max=1.0), (own - self.difference).clamp(min=0.0)
        samples = here[:, None].repeat(1, 1 + 2 * count, 1)
        samples[:, 1 : count + 1].scatter_(2, chosen[..., None], raised[..., None])
        samples[:, count + 1 :].scatter_(2, chosen[..., None], lowered[..., None])
        owners = rows.repeat_interleave(1 + 2 * count)
        logits = batch.model.logits(samples.view(-1, *batch.images.shape[1:]), owners)
        missing = (-batch.margin(owners)(logits)).clamp(min=0.0).view(len(rows), -1)
        slope = (missing[:, 1 : count + 1] - missing[:, count + 1 :]) / (raised - lowered)
        change = here - batch.images[rows].flatten(1)
        objective = change.square().sum(dim=1) + c * missing[:, 0]
        reached = batch.adversarial(logits.view(len(rows), 1 + 2 * count, -1)[:, 0].argmax(dim=1), rows)
        return reached, objective, 2.0 * change.gather(1, chosen) + c[:, None] * slope


class _ZooState:
    """Values of images, and the moments of Adam of each of them."""

    def __init__(self, clean: Tensor) -> None:
        self.values, self._shape = clean.flatten(1).clone(), clean.shape[1:]
        self._mean, self._square = torch.zeros_like(self.values), torch.zeros_like(self.values)
        self._updates = torch.zeros_like(self.values)

    def images(self, rows: Tensor) -> Tensor:
        """Return images of these rows."""
        return self.values[rows].view(-1, *self._shape)

    def step(self, rows: Tensor, chosen: Tensor, slope: Tensor, attack: Zoo) -> None:
        """Move the chosen values of these rows by one step of Adam, each with its own number of updates."""
        place = (rows[:, None], chosen)
        self._updates[place] += 1.0
        self._mean[place] = attack.first_decay * self._mean[place] + (1.0 - attack.first_decay) * slope
        self._square[place] = attack.second_decay * self._square[place] + (1.0 - attack.second_decay) * slope.square()
        mean = self._mean[place] / (1.0 - attack.first_decay ** self._updates[place])
        square = self._square[place] / (1.0 - attack.second_decay ** self._updates[place])
        self.values[place] = (self.values[place] - attack.rate * mean / (square.sqrt() + 1e-8)).clamp(0.0, 1.0)
