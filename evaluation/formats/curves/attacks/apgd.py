"""Auto-PGD (Croce and Hein 2020): PGD whose step size halves where progress stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded, lengths
from evaluation.formats.curves.models.classifier import Loss
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm

_LossOf: TypeAlias = Callable[[Tensor], Loss]
"""Returns the loss of images of some rows."""


@dataclass(frozen=True)
class ApgdCe(Attack):
    """Auto-PGD on the cross-entropy."""

    name: ClassVar[str] = "apgd-ce"
    title: ClassVar[str] = "APGD-CE"
    source: ClassVar[str] = "Croce and Hein 2020; parameters: the standard version of AutoAttack"
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.CONSTRAINED

    iterations: int = 100
    restarts: int = 1
    rho: float = 0.75
    """A step is halved if the loss rose in less than this share of the iterations since the last check."""

    def run(self, batch: AttackedBatch) -> None:
        rows = batch.rows[~batch.findings.found]
        reached = batch.reached(batch.images[rows], rows)
        batch.findings.add(batch.images[rows][reached], rows[reached], 0)
        for restart in range(self.restarts):
            self.ascend(batch, batch.loss, restart * (self.iterations + 1))

    def ascend(self, batch: AttackedBatch, loss_of: _LossOf, before: int) -> None:
        """Attack the images for which nothing is found yet, from random ones; `before`: the gradients spent on each.

        Images that are done leave.
        """
        rows = batch.rows[~batch.findings.found]
        if not len(rows):
            return
        state = _ApgdState(batch, rows, loss_of, before)
        checks = _checkpoints(self.iterations)
        since = 0
        for iteration in range(self.iterations):
            state.step(first=iteration == 0)
            if not len(state.rows):
                return
            since += 1
            if iteration + 1 in checks:
                state.check(since, self.rho)
                since = 0


@dataclass(frozen=True)
class ApgdT(ApgdCe):
    """Auto-PGD on the targeted difference of logits ratio, towards each of the nearest classes in turn."""

    name: ClassVar[str] = "apgd-t"
    title: ClassVar[str] = "APGD-T"
    goals: ClassVar[frozenset[Goal]] = frozenset({Goal.UNTARGETED})

    classes: int = 9
    """How many of the other classes, by the logits of the clean image."""

    def run(self, batch: AttackedBatch) -> None:
        if batch.model.classes < 4:  # the loss divides by a difference of the first logit and the third and fourth
            return
        rows = batch.rows[~batch.findings.found]
        logits = batch.model.logits(batch.images[rows], rows)
        reached = batch.adversarial(logits.argmax(dim=1), rows)
        batch.findings.add(batch.images[rows][reached], rows[reached], 0)
        others = logits.scatter(1, batch.labels[rows, None], -torch.inf).argsort(dim=1, descending=True)
        ranked = torch.zeros((len(batch.images), batch.model.classes), dtype=torch.int64, device=rows.device)
        ranked[rows] = others
        runs = 0
        for target in ranked[:, : min(self.classes, batch.model.classes - 1)].T:
            for _ in range(self.restarts):
                self.ascend(batch, _towards(batch, target), runs * (self.iterations + 1))
                runs += 1


def _towards(batch: AttackedBatch, targets: Tensor) -> _LossOf:
    """Return the targeted difference of logits ratio (eq. 8), which rises towards the target of each image."""

    def of_rows(rows: Tensor) -> Loss:
        def of(logits: Tensor) -> Tensor:
            ordered = logits.sort(dim=1).values
            own, target = logits.gather(1, batch.labels[rows, None]), logits.gather(1, targets[rows, None])
            scale = ordered[:, -1] - 0.5 * (ordered[:, -3] + ordered[:, -4]) + 1e-12
            return (target - own)[:, 0] / scale

        return of

    return of_rows


def _checkpoints(iterations: int) -> frozenset[int]:
    """Return after which iterations steps are checked (section 3.1): less and less far apart."""
    interval, shortest = max(int(0.22 * iterations), 1), max(int(0.06 * iterations), 1)
    less, found, at = max(int(0.03 * iterations), 1), [], 0
    while (at := at + interval) <= iterations:
        found.append(at)
        interval = max(interval - less, shortest)
    return frozenset(found)


class _ApgdState:
    """Images on their way, each with its step size and its best image."""

    def __init__(self, batch: AttackedBatch, rows: Tensor, loss_of: _LossOf, before: int) -> None:
        self._batch, self.rows, self._loss_of, self._spent = batch, rows, loss_of, before
        shape, clean, budgets = batch.images.shape[1:], batch.images[rows], expanded(batch.budgets[rows])
        if batch.norm is Norm.LINF:
            direction = 2.0 * batch.uniform(rows, *shape) - 1.0
            direction = direction / expanded(direction.abs().flatten(1).amax(dim=1))
        else:
            direction = batch.normal(rows, *shape)
            direction = direction / lengths(direction)
        self.images = batch.project(clean + budgets * direction, rows)
        self.previous = self.images
        self.steps = 2.0 * batch.budgets[rows]
        self.gradient, losses = self._look()
        self.best, self.best_gradient, self.best_loss = self.images, self.gradient, losses
        self.checked_loss, self.last_loss = losses, losses
        self.rises = torch.zeros_like(losses)
        self.halved = torch.ones_like(losses, dtype=torch.bool)
        self._leave()

    def step(self, *, first: bool) -> None:
        """Move each image along its gradient and its last movement, and look where it is."""
        if not len(self.rows):
            return
        batch, share = self._batch, 1.0 if first else 0.75
        ahead = batch.project(self.images + expanded(self.steps) * batch.steepest(self.gradient), self.rows)
        change = share * (ahead - self.images) + (1.0 - share) * (self.images - self.previous)
        self.previous, self.images = self.images, batch.project(self.images + change, self.rows)
        self.gradient, losses = self._look()
        self.rises = self.rises + (losses > self.last_loss)
        self.last_loss = losses
        better = losses > self.best_loss
        self.best = torch.where(expanded(better), self.images, self.best)
        self.best_gradient = torch.where(expanded(better), self.gradient, self.best_gradient)
        self.best_loss = torch.maximum(self.best_loss, losses)
        self._leave()

    def check(self, iterations: int, rho: float) -> None:
        """Halve the steps of images that made too little progress, and move them to their best image."""
        stuck = self.rises <= rho * iterations
        stuck |= ~self.halved & (self.checked_loss >= self.best_loss)
        self.halved, self.checked_loss, self.rises = stuck, self.best_loss, torch.zeros_like(self.rises)
        self.steps = torch.where(stuck, 0.5 * self.steps, self.steps)
        self.images = torch.where(expanded(stuck), self.best, self.images)
        self.gradient = torch.where(expanded(stuck), self.best_gradient, self.gradient)

    def _look(self) -> tuple[Tensor, Tensor]:
        """Return gradients and losses of the images, and add those that are adversarial to the findings."""
        batch, kept = self._batch, []

        def loss(logits: Tensor) -> Tensor:
            losses = self._loss_of(self.rows)(logits)
            kept.append(losses.detach())
            return losses

        self._reached, gradient = batch.gradient(self.images, self.rows, loss)
        self._spent += 1
        batch.findings.add(self.images[self._reached], self.rows[self._reached], self._spent)
        return gradient, torch.stack(kept).mean(dim=0)

    def _leave(self) -> None:
        """Drop the images that are done."""
        if not self._reached.any():
            return
        left = ~self._reached
        for name in _PER_IMAGE:
            setattr(self, name, getattr(self, name)[left])


_PER_IMAGE = (
    "rows", "images", "previous", "steps", "gradient", "best", "best_gradient", "best_loss", "checked_loss",
    "last_loss", "rises", "halved",
)  # fmt: skip
"""What `_ApgdState` keeps of each image."""
