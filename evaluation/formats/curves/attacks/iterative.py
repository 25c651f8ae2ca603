"""Basic and momentum iterative methods (Kurakin et al. 2017; Dong et al. 2018), and PGD (Madry et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded, lengths
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm


@dataclass(frozen=True)
class Bim(Attack):
    """Steps along the steepest direction, each projected into the budget."""

    name: ClassVar[str] = "bim"
    title: ClassVar[str] = "BIM"
    source: ClassVar[str] = "Kurakin et al. 2017; parameters: authors' code of Dong et al. 2020"
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.CONSTRAINED

    iterations: int = 10
    relative_step: float = 1.5
    """Length of a step: so many times the budget, divided by the iterations."""
    linf_step: float | None = None
    """Length of a step in Linf; None: as `relative_step` says."""
    l2_step: float | None = None
    """Length of a step in L2; None: as `relative_step` says."""
    decay: float = 0.0
    """Of the momentum."""

    def run(self, batch: AttackedBatch) -> None:
        self.ascend(batch, batch.rows, batch.images, 0)

    def ascend(self, batch: AttackedBatch, rows: Tensor, images: Tensor, before: int) -> None:
        """Attack images of some rows from where they are; `before` is the number of iterations spent on them.

        The pass that gives the gradient of a step also tells whether the steps before reached the goal; images that did
        leave. A transfer attack asks at the strengths of the trace and at the end.
        """
        momentum, steps = torch.zeros_like(images), self.steps(batch)
        for iteration in range(self.iterations):
            if not len(rows):
                return
            asked = before + iteration in batch.findings.strengths
            reached, gradient = self.gradient(batch, images, rows, clean=before + iteration == 0, asked=asked)
            batch.findings.add(images[reached], rows[reached], before + iteration)
            if reached.any():
                left = ~reached
                rows, images, gradient, momentum = rows[left], images[left], gradient[left], momentum[left]
            if self.decay:
                size = expanded(torch.linalg.vector_norm(gradient.flatten(1), ord=1, dim=1))
                share = gradient / size.clamp(min=torch.finfo(gradient.dtype).tiny)
                momentum = share.add_(momentum, alpha=self.decay)
            else:
                momentum = gradient
            moved = torch.addcmul(images, batch.steepest(momentum), expanded(steps[rows]))
            images = batch.project(moved, rows)
        if len(rows):
            reached = batch.reached(images, rows)
            batch.findings.add(images[reached], rows[reached], before + self.iterations)

    def gradient(
        self, batch: AttackedBatch, images: Tensor, rows: Tensor, *, clean: bool, asked: bool
    ) -> tuple[Tensor, Tensor]:
        """Return whether images reach the goal, and the gradients for the next step; `clean`: they are unchanged."""
        if clean:
            return batch.clean_gradient(rows)
        return batch.gradient(images, rows, batch.loss(rows), asked=asked)

    def steps(self, batch: AttackedBatch) -> Tensor:
        """Return the length of a step of each image, (n,)."""
        fixed = self.linf_step if batch.norm is Norm.LINF else self.l2_step
        if fixed is None:
            return self.relative_step * batch.budgets / self.iterations
        return torch.full_like(batch.budgets, fixed)


@dataclass(frozen=True)
class Mim(Bim):
    """BIM with momentum."""

    name: ClassVar[str] = "mim"
    title: ClassVar[str] = "MIM"
    source: ClassVar[str] = "Dong et al. 2018; parameters: authors' code of Dong et al. 2020"

    decay: float = 1.0


@dataclass(frozen=True)
class Pgd(Bim):
    """BIM from random images within the budget, several times."""

    name: ClassVar[str] = "pgd"
    title: ClassVar[str] = "PGD"
    source: ClassVar[str] = "Madry et al. 2018; steps of 2.5 budget / iterations: its figure 6"

    iterations: int = 40
    relative_step: float = 2.5
    restarts: int = 5

    def run(self, batch: AttackedBatch) -> None:
        reached = batch.reached(batch.images, batch.rows)
        batch.findings.add(batch.images[reached], batch.rows[reached], 0)
        for restart in range(self.restarts):
            rows = batch.rows[~batch.findings.found]
            if len(rows):
                self.ascend(batch, rows, self.start(batch, rows), restart * self.iterations)

    def start(self, batch: AttackedBatch, rows: Tensor) -> Tensor:
        """Return images drawn uniformly from the budgets of their rows."""
        shape, clean, budgets = batch.images.shape[1:], batch.images[rows], expanded(batch.budgets[rows])
        if batch.norm is Norm.LINF:
            return batch.project(clean + budgets * (2.0 * batch.uniform(rows, *shape) - 1.0), rows)
        direction = batch.normal(rows, *shape)
        radius = batch.uniform(rows, 1, 1, 1) ** (1.0 / shape.numel())
        return batch.project(clean + budgets * radius * direction / lengths(direction), rows)

    def gradient(
        self, batch: AttackedBatch, images: Tensor, rows: Tensor, *, clean: bool, asked: bool
    ) -> tuple[Tensor, Tensor]:
        return super().gradient(batch, images, rows, clean=False, asked=asked)


@dataclass(frozen=True)
class TransferBim(Bim):
    """BIM with the gradients of a substitute."""

    name: ClassVar[str] = "transfer-bim"
    title: ClassVar[str] = "BIM (transfer)"
    knowledge: ClassVar[Knowledge] = Knowledge.TRANSFER


@dataclass(frozen=True)
class TransferMim(Mim):
    """MIM with the gradients of a substitute."""

    name: ClassVar[str] = "transfer-mim"
    title: ClassVar[str] = "MIM (transfer)"
    knowledge: ClassVar[Knowledge] = Knowledge.TRANSFER
