"""HopSkipJump (Chen et al. 2020): the direction of the boundary from decisions, and bisection back to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, distance, expanded, lengths
from evaluation.formats.curves.attacks.decision_attack_starts import start, to_boundary
from evaluation.formats.curves.attacks.query_limit import affordable, ask, in_pieces
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm

_TINY = torch.finfo(torch.float32).tiny
_WHOLE_STEP = 1.0 / 255.0
"""By how much a sample changes values at least, in the mean, where the model rounds images: it sees nothing finer."""
_MOST_HALVINGS = 20
"""Of a step: a shorter one is none in single precision."""


@dataclass(frozen=True)
class HopSkipJump(Attack):
    """Estimate the normal of the boundary, step along it as far as the image stays adversarial, bisect.

    A draw is started if its samples and a query for the step fit in the limit.
    """

    name: ClassVar[str] = "hop-skip-jump"
    title: ClassVar[str] = "HopSkipJump"
    source: ClassVar[str] = "Chen et al. 2020 and its authors' code, geometric search of the step"
    knowledge: ClassVar[Knowledge] = Knowledge.DECISION
    capability: ClassVar[Capability] = Capability.OPTIMISED

    first_samples: int = 100
    """Of the first draw; that of iteration t has sqrt(t) times as many."""
    most_samples: int = 10_000
    gamma: float = 1.0
    """Of the precision of the bisection: gamma / d^(3/2) of the distance in L2, gamma / d^2 in Linf."""
    first_radius: float = 0.1
    """Of the first samples; later ones lie at 1 / d of the distance, times gamma, or a whole step of 8 bits away."""

    def run(self, batch: AttackedBatch) -> None:
        images, rows = start(batch)
        values = batch.images[0].numel()
        precision = self.gamma / values ** (2.0 if batch.norm is Norm.LINF else 1.5)
        least = _WHOLE_STEP * values**0.5 if batch.model.rounds else 0.0
        images[rows] = to_boundary(batch, images[rows], rows, batch.norm, precision)
        iteration = 1
        while True:
            samples = min(int(self.first_samples * iteration**0.5), self.most_samples)
            rows = affordable(batch, rows, samples + 1)
            if not len(rows):
                return
            far = distance(images[rows], batch.images[rows], batch.norm)
            radius = self.gamma * far / values if iteration > 1 else torch.full_like(far, self.first_radius)
            normals = self._normals(batch, images[rows], rows, samples, radius.clamp(min=least))
            images[rows] = self._step(batch, images[rows], rows, batch.steepest(normals), far / iteration**0.5)
            images[rows] = to_boundary(batch, images[rows], rows, batch.norm, precision)
            iteration += 1

    def _normals(self, batch: AttackedBatch, images: Tensor, rows: Tensor, samples: int, radius: Tensor) -> Tensor:
        """Return estimates of the normals of the boundary at the images, towards what is adversarial."""
        found, place = [], 0
        for piece in in_pieces(rows, samples):
            centres, size = (
                images[place : place + len(piece), None],
                radius[place : place + len(piece), None, None, None, None],
            )
            place += len(piece)
            if batch.norm is Norm.LINF:
                drawn = 2.0 * batch.uniform(piece, samples, *images.shape[1:]) - 1.0
            else:
                drawn = batch.normal(piece, samples, *images.shape[1:])
            drawn = drawn / torch.linalg.vector_norm(drawn, dim=(2, 3, 4), keepdim=True).clamp(min=_TINY)
            asked = (centres + size * drawn).clamp(0.0, 1.0)
            owners = piece.repeat_interleave(samples)
            answers = 2.0 * batch.reached(asked.flatten(0, 1), owners).float().view(-1, samples) - 1.0
            mean = answers.mean(dim=1, keepdim=True)
            weights = torch.where(mean.abs() == 1.0, answers, answers - mean)
            found.append(torch.einsum("ns,ns...->n...", weights, (asked - centres) / size) / samples)
        normals = torch.cat(found)
        return normals / lengths(normals).clamp(min=_TINY)

    def _step(self, batch: AttackedBatch, images: Tensor, rows: Tensor, directions: Tensor, first: Tensor) -> Tensor:
        """Return the images moved along the directions by the first of `first`, its half, ... that is adversarial."""
        images, size = images.clone(), first
        active = torch.arange(len(rows), device=rows.device)
        for _ in range(_MOST_HALVINGS):
            active = active[batch.model.left(rows[active]) > 0]
            if not len(active):
                break
            moved = (images[active] + expanded(size[active]) * directions[active]).clamp(0.0, 1.0)
            reached = ask(batch, moved, rows[active])
            images[active[reached]] = moved[reached]
            active = active[~reached]
            size = size / 2.0
        return images
