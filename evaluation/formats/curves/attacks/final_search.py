"""The last part of attacks that make the perturbation small: along the segment to the clean image."""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import AttackedBatch, expanded


def shorten(batch: AttackedBatch, rows: Tensor, halvings: int, strength: int) -> None:
    """Move what is found for these rows towards the clean images, up to the boundary, by bisection of the segment.

    `strength` is what the attack has spent on each row by then.
    """
    rows = rows[batch.findings.found[rows] & (batch.findings.distances[rows] > 0)]
    clean, change = batch.images[rows], batch.findings.images[rows] - batch.images[rows]
    low, high = torch.zeros(len(rows), device=rows.device), torch.ones(len(rows), device=rows.device)
    for _ in range(halvings):
        if not len(rows):
            return
        middle = (low + high) / 2.0
        images = (clean + expanded(middle) * change).clamp(0.0, 1.0)
        reached = batch.reached(images, rows)
        batch.findings.add(images[reached], rows[reached], strength)
        high, low = torch.where(reached, middle, high), torch.where(reached, low, middle)
