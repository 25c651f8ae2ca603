"""Fast adaptive boundary attack (Croce and Hein 2020, "Minimally distorted adversarial examples"): FAB and FAB-T."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, distance, expanded
from evaluation.formats.curves.attacks.final_search import shorten
from evaluation.formats.curves.attacks.linearised_boundaries import difference, dual_lengths, steps_to_planes
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge

_Boundary: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Returns, for images of some rows, how far a logit is above another, (n,), and the gradient of that."""
_TINY = 1e-8


@dataclass(frozen=True)
class Fab(Attack):
    """Steps to the nearest boundary of the linearised model, drawn towards the clean image.

    An adversarial image is moved back towards the clean one. An image leaves when an adversarial within its budget, if
    it has one, is found. The strength is the number of steps.
    """

    name: ClassVar[str] = "fab"
    title: ClassVar[str] = "FAB"
    source: ClassVar[str] = (
        "Croce and Hein 2020 (Minimally distorted adversarial examples), with its final search; parameters: the "
        "standard version of AutoAttack"
    )
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.OPTIMISED

    iterations: int = 100
    most_bias: float = 0.1
    """The largest weight of the point at the boundary that is nearest to the clean image (alpha_max)."""
    overshoot: float = 1.05
    """Of the steps (eta)."""
    retreat: float = 0.9
    """An adversarial image keeps this share of its change (beta)."""
    final_halvings: int = 5
    """Of the segment between the nearest adversarial image and the clean one."""

    def run(self, batch: AttackedBatch) -> None:
        rows = batch.rows[~batch.findings.found]
        if not len(rows):
            return
        logits = batch.model.logits(batch.images[rows], rows)
        reached = batch.adversarial(logits.argmax(dim=1), rows)
        batch.findings.add(batch.images[rows[reached]], rows[reached], 0)
        ranked = torch.zeros((len(batch.images), batch.model.classes), dtype=torch.int64, device=rows.device)
        ranked[rows] = logits.scatter(1, batch.labels[rows, None], -torch.inf).argsort(dim=1, descending=True)
        rows = rows[~reached]
        spent = 0
        for boundary in self.boundaries(batch, ranked[:, : batch.model.classes - 1]):
            self._walk(batch, rows, boundary, spent)
            spent += self.iterations
        shorten(batch, self._waiting(batch, rows), self.final_halvings, spent)

    def boundaries(self, batch: AttackedBatch, others: Tensor) -> Iterable[_Boundary]:
        """Return the boundaries that the steps lead to, of one walk after another.

        `others` (images, classes - 1) are the other classes of each image, those of high logits first.
        """
        return [_nearest(batch, others) if batch.goal is Goal.UNTARGETED else _of_goal(batch)]

    def _waiting(self, batch: AttackedBatch, rows: Tensor) -> Tensor:
        """Return those of the rows that still may gain from steps."""
        enough = torch.where(batch.budgets.isfinite(), batch.budgets, 0.0)[rows]
        return rows[batch.findings.distances[rows] > enough]

    def _walk(self, batch: AttackedBatch, rows: Tensor, boundary: _Boundary, before: int) -> None:
        images = batch.images.clone()
        for iteration in range(self.iterations):
            rows = self._waiting(batch, rows)
            if not len(rows):
                return
            # 1. from the image and from the clean one to the linearised boundary
            here, clean = images[rows], batch.images[rows]
            gap, normal = boundary(here, rows)
            own = steps_to_planes(here, gap, normal, batch.norm)
            direct = steps_to_planes(clean, gap + (normal * (clean - here)).flatten(1).sum(dim=1), normal, batch.norm)
            length = distance(here + own, here, batch.norm).clamp(min=_TINY)
            bias = length / (length + distance(clean + direct, clean, batch.norm).clamp(min=_TINY))
            bias = expanded(bias.clamp(max=self.most_bias))
            # 2. between both
            ahead = (1.0 - bias) * (here + self.overshoot * own) + bias * (clean + self.overshoot * direct)
            ahead = ahead.clamp(0.0, 1.0)
            reached = batch.reached(ahead, rows)
            batch.findings.add(ahead[reached], rows[reached], before + iteration + 1)
            images[rows] = torch.where(expanded(reached), clean + self.retreat * (ahead - clean), ahead)


@dataclass(frozen=True)
class FabT(Fab):
    """FAB towards the boundaries with each of the nearest classes in turn: one gradient for a step."""

    name: ClassVar[str] = "fab-t"
    title: ClassVar[str] = "FAB-T"
    goals: ClassVar[frozenset[Goal]] = frozenset({Goal.UNTARGETED})

    classes: int = 9
    """How many of the other classes, by the logits of the clean image."""

    def boundaries(self, batch: AttackedBatch, others: Tensor) -> Iterable[_Boundary]:
        return [_with(batch, classes) for classes in others[:, : self.classes].T]


def _with(batch: AttackedBatch, classes: Tensor) -> _Boundary:
    """Return the boundary with a class of each image."""

    def of(images: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        loss = difference(classes[rows], batch.labels[rows])
        logits, gradient = batch.model.gradient(images, rows, loss)
        return loss(logits), gradient

    return of


def _of_goal(batch: AttackedBatch) -> _Boundary:
    """Return the boundary at which the goal is reached."""

    def of(images: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        logits, gradient = batch.model.gradient(images, rows, batch.margin(rows))
        return batch.margin(rows)(logits), gradient

    return of


def _nearest(batch: AttackedBatch, others: Tensor) -> _Boundary:
    """Return the nearest of the linearised boundaries with all other classes."""

    def of(images: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        gap, normal = _with(batch, others[:, 0])(images, rows)
        shortest = gap.abs() / dual_lengths(normal, batch.norm)
        for classes in others.T[1:]:
            other_gap, other_normal = _with(batch, classes)(images, rows)
            length = other_gap.abs() / dual_lengths(other_normal, batch.norm)
            nearer = length < shortest
            gap, shortest = torch.where(nearer, other_gap, gap), torch.minimum(length, shortest)
            normal = torch.where(expanded(nearer), other_normal, normal)
        return gap, normal

    return of
