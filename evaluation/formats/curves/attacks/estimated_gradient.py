"""Ascent of the margin along gradients that are estimated from scores: the part that NES and SPSA share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded
from evaluation.formats.curves.attacks.query_limit import affordable, ask, in_pieces, rows_to_attack
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm


@dataclass(frozen=True)
class EstimatedGradient(Attack):
    """Steps along a gradient that is the mean of antithetic finite differences, each projected into the budget.

    Samples are clipped to [0, 1], as models have it. A draw is started if its samples and the query that checks the
    step fit in the limit; an image that reaches the goal leaves.
    """

    knowledge: ClassVar[Knowledge] = Knowledge.SCORE
    capability: ClassVar[Capability] = Capability.CONSTRAINED

    samples: int = 100
    """Of each draw."""
    sigma: float = 0.001
    """Size of the differences."""
    relative_step: float = 0.15
    """Length of a step: so many times the budget."""
    linf_step: float | None = None
    """Length of a step in Linf; None: as `relative_step` says."""
    l2_step: float | None = None
    """Length of a step in L2; None: as `relative_step` says."""

    def fails_with_rounding(self, norm: Norm) -> str:
        # a change below half a step of 1/255 leaves every value as it is
        return (
            "estimates gradients from changes that rounding removes"
            if self.sigma < 0.5 / 255
            else super().fails_with_rounding(norm)
        )

    def run(self, batch: AttackedBatch) -> None:
        rows = rows_to_attack(batch)
        images, rule = batch.images.clone(), self.rule(batch)
        while len(rows := affordable(batch, rows, 2 * (self.samples // 2) + 1)):
            gradient, margin = self._estimate(batch, images, rows)
            images[rows] = batch.project(images[rows] + rule.steps(rows, gradient, margin), rows)
            rows = rows[~ask(batch, images[rows], rows)]

    @abstractmethod
    def directions(self, batch: AttackedBatch, rows: Tensor, count: int) -> Tensor:
        """Draw `count` directions for each row, (n, count, channels, height, width)."""

    @abstractmethod
    def rule(self, batch: AttackedBatch) -> Rule:
        """Return the rule of the steps for one run."""

    def step(self, batch: AttackedBatch) -> Tensor:
        """Return the length of the first step of each image, (n,)."""
        fixed = self.linf_step if batch.norm is Norm.LINF else self.l2_step
        return self.relative_step * batch.budgets if fixed is None else torch.full_like(batch.budgets, fixed)

    def _estimate(self, batch: AttackedBatch, images: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the estimated gradient of the margin of each row, and the mean margin of its samples, (n,)."""
        pairs = self.samples // 2
        gradients, margins = [], []
        for piece in in_pieces(rows, 2 * pairs):
            drawn = self.directions(batch, piece, pairs)
            changes = self.sigma * torch.cat([drawn, -drawn], dim=1)
            samples = (images[piece][:, None] + changes).clamp(0.0, 1.0).flatten(0, 1)
            owners = piece.repeat_interleave(2 * pairs)
            margin = batch.margin(owners)(batch.model.logits(samples, owners)).view(len(piece), 2, pairs)
            difference = margin[:, 0] - margin[:, 1]
            gradients.append(torch.einsum("np,np...->n...", difference, drawn) / (2 * pairs * self.sigma))
            margins.append(margin.flatten(1).mean(dim=1))
        return torch.cat(gradients), torch.cat(margins)


class Rule(ABC):
    """How steps follow from estimated gradients."""

    @abstractmethod
    def steps(self, rows: Tensor, gradient: Tensor, margin: Tensor) -> Tensor:
        """Return the steps of these rows; `margin` (n,) is the mean of their samples."""


class Plateau(Rule):
    """Steps of one length along the steepest direction; the length is halved where the margin has not risen."""

    def __init__(self, batch: AttackedBatch, first: Tensor, least: Tensor, patience: int) -> None:
        self._batch, self._lengths, self._least = batch, first.clone(), least
        self._patience = patience
        self._margins = torch.zeros((len(first), patience), device=first.device)
        self._known = torch.zeros_like(batch.rows)

    def steps(self, rows: Tensor, gradient: Tensor, margin: Tensor) -> Tensor:
        lengths = expanded(self._lengths[rows])
        self._margins[rows] = torch.cat([self._margins[rows, 1:], margin[:, None]], dim=1)
        self._known[rows] += 1
        stale = rows[(self._known[rows] >= self._patience) & (margin < self._margins[rows, 0])]
        self._lengths[stale] = torch.maximum(self._lengths[stale] / 2.0, self._least[stale])
        self._known[stale] = 0
        return lengths * self._batch.steepest(gradient)


class Adam(Rule):
    """Steps of Adam (Kingma and Ba 2015)."""

    def __init__(self, batch: AttackedBatch, rates: Tensor, first: float, second: float, tiny: float) -> None:
        self._rates, self._first, self._second, self._tiny = expanded(rates), first, second, tiny
        self._mean, self._square = torch.zeros_like(batch.images), torch.zeros_like(batch.images)
        self._count = 0

    def steps(self, rows: Tensor, gradient: Tensor, margin: Tensor) -> Tensor:
        del margin
        self._count += 1
        self._mean[rows] = self._first * self._mean[rows] + (1.0 - self._first) * gradient
        self._square[rows] = self._second * self._square[rows] + (1.0 - self._second) * gradient.square()
        mean = self._mean[rows] / (1.0 - self._first**self._count)
        square = self._square[rows] / (1.0 - self._second**self._count)
        return self._rates[rows] * mean / (square.sqrt() + self._tiny)
