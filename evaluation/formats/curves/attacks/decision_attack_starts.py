"""Where decision-based attacks start, and how an image is moved to the boundary."""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import AttackedBatch, distance, expanded
from evaluation.formats.curves.attacks.query_limit import affordable, ask, rows_to_attack
from evaluation.formats.curves.threat_models import Norm

START_PRECISION = 0.001
"""Of the share of a start that is blended with the clean image (authors' code of HopSkipJump)."""
_MOST_NOISE = 1000
"""Images of noise that are tried for an image, at most for a tenth of its queries."""
_LEAST_PRECISION = 2.0**-20
"""Single precision resolves no finer shares."""


def start(batch: AttackedBatch) -> tuple[Tensor, Tensor]:
    """Return an adversarial image of each row at the boundary, like `batch.images`, and the rows that have one, (n,).

    It is uniform noise or, with a target, the known image of that class, blended with the clean image. Where a model
    gives the right class to all noise, it is the known image of another class. Nothing is found for a row without such
    an image.
    """
    images, rows = batch.images.clone(), rows_to_attack(batch)
    found = rows[:0] if batch.targets is not None else _noise(batch, images, rows)
    found = torch.cat([found, _known(batch, images, rows[~torch.isin(rows, found)])]).sort().values
    images[found] = to_boundary(batch, images[found], found, Norm.L2, START_PRECISION)
    return images, batch.rows if len(found) == len(images) else found


def to_boundary(batch: AttackedBatch, images: Tensor, rows: Tensor, norm: Norm, precision: float) -> Tensor:
    """Return the adversarial images of these rows moved towards the clean ones, up to the boundary.

    In L2 along the line, in Linf by clipping the change; the share of the change that is left is bisected down to the
    precision. A row without queries keeps what it has.
    """
    best = images.clone()
    low, high = torch.zeros(len(rows), device=rows.device), torch.ones(len(rows), device=rows.device)
    while True:
        active = ((high - low > max(precision, _LEAST_PRECISION)) & (batch.model.left(rows) > 0)).nonzero()[:, 0]
        if not len(active):
            return best
        middle = (low[active] + high[active]) / 2.0
        moved = _share(batch.images[rows[active]], images[active], middle, norm)
        reached = ask(batch, moved, rows[active])
        high[active] = torch.where(reached, middle, high[active])
        low[active] = torch.where(reached, low[active], middle)
        best[active[reached]] = moved[reached]


def _share(clean: Tensor, images: Tensor, shares: Tensor, norm: Norm) -> Tensor:
    change = images - clean
    if norm is Norm.LINF:
        limits = expanded(shares * distance(images, clean, norm))
        return (clean + change.clamp(-limits, limits)).clamp(0.0, 1.0)
    return (clean + expanded(shares) * change).clamp(0.0, 1.0)


def _noise(batch: AttackedBatch, images: Tensor, rows: Tensor) -> Tensor:
    """Set images to noise that is adversarial; return the rows for which there is one.

    A model may give one class to all noise of single pixels: pixels of 1, 2, 4, ... are tried in turn.
    """
    _, channels, height, width = images.shape
    scales = [2**power for power in range(max(height, width).bit_length())]
    found = torch.zeros(len(batch.images), dtype=torch.bool, device=rows.device)
    most = _MOST_NOISE if batch.starts is None else min(_MOST_NOISE, (batch.model.limit or 0) // 10)
    for number in range(most):
        rows = affordable(batch, rows[~found[rows]], 1)
        if not len(rows):
            break
        scale = scales[number % len(scales)]
        small = batch.uniform(rows, channels, -(-height // scale), -(-width // scale))
        large = small.repeat_interleave(scale, dim=2).repeat_interleave(scale, dim=3)
        images[rows] = large[:, :, :height, :width]
        found[rows] = ask(batch, images[rows], rows)
    return found.nonzero()[:, 0]


def _known(batch: AttackedBatch, images: Tensor, rows: Tensor) -> Tensor:
    """Set images to the known starts; return the rows for which the model confirms that they reach the goal."""
    if batch.starts is None:
        return rows[:0]
    rows = affordable(batch, rows[~batch.starts[rows].flatten(1).isnan().any(dim=1)], 1)
    images[rows] = batch.starts[rows]
    return rows[ask(batch, images[rows], rows)]
