"""Square attack (Andriushchenko et al. 2020): random search with squares that become smaller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded, lengths
from evaluation.formats.curves.attacks.query_limit import Steps, affordable, rows_to_attack
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm

_SHRINKS = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)
"""After so many iterations the share of changed pixels is halved (section 3 of the paper)."""
_TINY = 1e-12


@dataclass(frozen=True)
class Square(Attack):
    """Change a random square; keep the change if the loss rises. The perturbation has the length of the budget.

    The loss is the margin, or the cross-entropy towards a target.
    """

    name: ClassVar[str] = "square"
    title: ClassVar[str] = "Square"
    source: ClassVar[str] = (
        "Andriushchenko et al. 2020, schedule of the paper for 10,000 queries; "
        "first share: AutoAttack (Croce and Hein 2020)"
    )
    knowledge: ClassVar[Knowledge] = Knowledge.SCORE
    capability: ClassVar[Capability] = Capability.CONSTRAINED

    first_share: float = 0.8
    """Of the pixels, that the first squares change."""

    def run(self, batch: AttackedBatch) -> None:
        rows = affordable(batch, rows_to_attack(batch), 1)
        if not len(rows):
            return
        rows = batch.rows if len(rows) == len(batch.images) else rows
        channels = batch.images.shape[1]
        numbers = 2 + channels if batch.norm is Norm.LINF else 5 + channels
        steps = Steps(batch, lambda which, count: batch.uniform(which, count, numbers), numbers)
        images, losses = batch.images.clone(), torch.full_like(batch.budgets, -torch.inf)
        proposals = self._stripes(batch, rows) if batch.norm is Norm.LINF else self._tiles(batch, rows)
        iteration = 0
        while True:
            # 1. ask for the proposals, and keep those that are better
            proposals = batch.project(proposals, rows)
            logits = batch.model.logits(proposals, rows)
            reached = batch.adversarial(logits.argmax(dim=1), rows)
            batch.findings.add(proposals[reached], rows[reached], batch.model.queries[rows[reached]])
            loss = (batch.margin if batch.goal is Goal.UNTARGETED else batch.loss)(rows)(logits)
            better = loss > losses[rows]
            images[rows[better]], losses[rows[better]] = proposals[better], loss[better]
            # 2. propose others
            rows = affordable(batch, rows[~reached] if reached.any() else rows, 1)
            if not len(rows):
                return
            move = self._linf_move if batch.norm is Norm.LINF else self._l2_move
            proposals = move(batch, batch.of(rows, images), rows, steps.next(rows), iteration)
            iteration += 1

    def share(self, iteration: int) -> float:
        """Return which share of the pixels a square changes."""
        return self.first_share / float(2 ** sum(iteration > each for each in _SHRINKS))

    def _stripes(self, batch: AttackedBatch, rows: Tensor) -> Tensor:
        """Return images with vertical stripes, one pixel wide."""
        _, channels, _, width = batch.images.shape
        return batch.images[rows] + expanded(batch.budgets[rows]) * _signs(batch.uniform(rows, channels, 1, width))

    def _linf_move(self, batch: AttackedBatch, images: Tensor, rows: Tensor, drawn: Tensor, iteration: int) -> Tensor:
        _, channels, height, width = images.shape
        side = min(max(round((self.share(iteration) * height * width) ** 0.5), 1), height, width)
        square = _SquareWindow(images, side, drawn[:, 0], drawn[:, 1])
        clean, budgets = batch.of(rows, batch.images), expanded(batch.budgets[rows])
        changed = clean + budgets * _signs(drawn[:, 2:]).view(-1, channels, 1, 1)
        return torch.where(square.inside, changed, images)

    def _tiles(self, batch: AttackedBatch, rows: Tensor) -> Tensor:
        """Return images with five tiles or more along each side, each a bump."""
        _, channels, height, width = batch.images.shape
        side = max(min(height, width) // 5, 1)
        down, across = height // side, width // side
        drawn = batch.uniform(rows, down, across, 1 + channels)
        bumps = _bumps(side, batch.images.device)
        tiles = torch.where(drawn[..., 0, None, None] < 0.5, bumps, bumps.T)[:, :, :, None]
        tiles = tiles * _signs(drawn[..., 1:])[..., None, None]
        change = torch.zeros_like(batch.images[rows])
        top, left = (height - down * side) // 2, (width - across * side) // 2
        inside = tiles.permute(0, 3, 1, 4, 2, 5).reshape(len(rows), channels, down * side, across * side)
        change[:, :, top : top + down * side, left : left + across * side] = inside
        return batch.images[rows] + expanded(batch.budgets[rows]) * change / lengths(change).clamp(min=_TINY)

    def _l2_move(self, batch: AttackedBatch, images: Tensor, rows: Tensor, drawn: Tensor, iteration: int) -> Tensor:
        """Move what is in a second square, and what the budget leaves, to a bump in the first."""
        _, channels, height, width = images.shape
        side = max(round((self.share(iteration) * height * width) ** 0.5), 3)
        side = min(side + 1 - side % 2, height, width)
        first = _SquareWindow(images, side, drawn[:, 0], drawn[:, 1])
        second = _SquareWindow(images, side, drawn[:, 2], drawn[:, 3])
        change, budgets = images - batch.images[rows], expanded(batch.budgets[rows])
        bump = first.filled(_bumps(side, images.device), drawn[:, 4] < 0.5)
        bump = bump * _signs(drawn[:, 5:]).view(-1, channels, 1, 1)
        old = torch.where(first.inside, change, 0.0)
        new = bump + old / (_channel_lengths(old) + _TINY)
        unused = (budgets.square() - lengths(change).square()).clamp(min=0.0) / channels
        windows = _channel_lengths(torch.where(first.inside | second.inside, change, 0.0)).square()
        new = new / (_channel_lengths(new) + _TINY) * (unused + windows).sqrt()
        change = torch.where(first.inside, new, torch.where(second.inside, 0.0, change))
        return batch.images[rows] + budgets * change / lengths(change).clamp(min=_TINY)


class _SquareWindow:
    """A square in each of n images, whose place follows from two numbers in [0, 1) each."""

    def __init__(self, images: Tensor, side: int, vertical: Tensor, horizontal: Tensor) -> None:
        height, width = images.shape[2:]
        self._side = side
        self._down = torch.arange(height, device=images.device) - _offset(vertical, height - side)[:, None]
        self._across = torch.arange(width, device=images.device) - _offset(horizontal, width - side)[:, None]
        down = (self._down >= 0) & (self._down < side)
        across = (self._across >= 0) & (self._across < side)
        self.inside = (down[:, :, None] & across[:, None, :])[:, None]

    def filled(self, pattern: Tensor, upright: Tensor) -> Tensor:
        """Return images (n, 1, height, width) with the pattern, or its transpose, in the square and 0 around it."""
        down, across = self._down.clamp(0, self._side - 1), self._across.clamp(0, self._side - 1)
        straight = pattern[down[:, :, None], across[:, None, :]]
        turned = pattern.T[down[:, :, None], across[:, None, :]]
        return torch.where(self.inside, torch.where(upright[:, None, None], straight, turned)[:, None], 0.0)


def _offset(uniform: Tensor, most: int) -> Tensor:
    return (uniform * (most + 1)).long().clamp(max=most)


def _signs(uniform: Tensor) -> Tensor:
    return 1.0 - 2.0 * (uniform < 0.5).float()


def _channel_lengths(change: Tensor) -> Tensor:
    found: Tensor = torch.linalg.vector_norm(change, dim=(2, 3), keepdim=True)
    return found


def _bumps(side: int, device: torch.device) -> Tensor:
    """Return two bumps of opposite signs, one above the other, of length 1, (side, side): eq. 2 of the paper."""
    upper = side // 2
    both = torch.cat([_bump(upper, side), -_bump(side - upper, side)])
    return both.div(torch.linalg.vector_norm(both)).to(device)


def _bump(height: int, width: int) -> Tensor:
    """Return a bump of length 1: the sum of 1 / k^2 over the rectangles, of growing size, that a pixel lies in."""
    if not height:
        return torch.zeros((0, width))
    down = (torch.arange(height) - height // 2).abs()
    across = (torch.arange(width) - width // 2).abs()
    terms = 1.0 / torch.arange(1, max(height // 2, width // 2) + 2).float().square()
    bump = terms.flip(0).cumsum(0).flip(0)[torch.maximum(down[:, None], across[None, :])]
    return bump.div(torch.linalg.vector_norm(bump))
