"""Evolutionary attack (Dong et al. 2019): a (1+1) evolution strategy with a diagonal covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded, lengths
from evaluation.formats.curves.attacks.decision_attack_starts import start
from evaluation.formats.curves.attacks.query_limit import Steps, affordable, ask
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm

_TINY = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class Evolutionary(Attack):
    """Random changes of some coordinates, drawn by a covariance that is learnt from those that succeed.

    Without the reduction of dimensions, which is for large images.
    """

    name: ClassVar[str] = "evolutionary"
    title: ClassVar[str] = "Evolutionary"
    source: ClassVar[str] = (
        "Dong et al. 2019, algorithm 1; parameters: authors' code of Dong et al. 2020; starts at the boundary"
    )
    knowledge: ClassVar[Knowledge] = Knowledge.DECISION
    capability: ClassVar[Capability] = Capability.OPTIMISED
    norms: ClassVar[frozenset[Norm]] = frozenset({Norm.L2})

    mu: float = 0.01
    """How far to the clean image a step goes at first, of the distance."""
    sigma: float = 0.03
    """Length of the random change, of the distance."""
    path_decay: float = 0.99
    covariance_rate: float = 0.001
    chosen: float = 0.05
    """Share of the coordinates that change."""
    trials: int = 30
    """After so many, mu is multiplied by exp(rate of success - 0.2)."""

    def run(self, batch: AttackedBatch) -> None:
        images, rows = start(batch)
        path, covariance = torch.zeros_like(images), torch.ones_like(images)
        mu = torch.full((len(images),), self.mu, device=images.device)
        successes = torch.zeros_like(mu)
        shape = images.shape[1:]
        normal = Steps(batch, lambda which, count: batch.normal(which, count, *shape), shape.numel())
        uniform = Steps(batch, lambda which, count: batch.uniform(which, count, shape.numel()), shape.numel())
        trial = 0
        while len(rows := affordable(batch, rows, 1)):
            # 1. a change of coordinates that are drawn by the covariance, without replacement
            races = -torch.log1p(-uniform.next(rows)) / covariance[rows].flatten(1)
            chosen = races.topk(max(int(self.chosen * shape.numel()), 1), dim=1, largest=False).indices
            mask = torch.zeros_like(races).scatter_(1, chosen, 1.0).view(-1, *shape)
            change = normal.next(rows) * mask * covariance[rows].sqrt()
            proposals = self._proposals(batch.images[rows], images[rows], change, expanded(mu[rows]))
            # 2. what succeeds is kept, and moves path and covariance
            reached = ask(batch, proposals, rows)
            kept = rows[reached]
            images[kept] = proposals[reached]
            path[kept] = self.path_decay * path[kept] + (1.0 - self.path_decay**2) ** 0.5 * change[reached]
            rate = self.covariance_rate
            covariance[kept] = (1.0 - rate) * covariance[kept] + rate * path[kept].square()
            # 3. the rate of success moves mu
            successes[kept] += 1.0
            trial += 1
            if trial % self.trials == 0:
                # beyond 1 a step would pass the clean image
                mu = (mu * (successes / self.trials - 0.2).exp()).clamp(max=1.0)
                successes = torch.zeros_like(successes)

    def _proposals(self, clean: Tensor, images: Tensor, change: Tensor, mu: Tensor) -> Tensor:
        """Return images at 1 - mu of the distance to the clean images."""
        to_clean = clean - images
        length = lengths(to_clean)
        moved = images + mu * to_clean + self.sigma * length * change / lengths(change).clamp(min=_TINY)
        to_clean = clean - moved
        return (clean - to_clean / lengths(to_clean).clamp(min=_TINY) * (1.0 - mu) * length).clamp(0.0, 1.0)
