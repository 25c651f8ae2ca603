"""Interpolation: the nearest adversarial on the line to an adversarial start, a simple decision-based attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from evaluation.formats.curves.attacks.base import Attack, Batch, expanded
from evaluation.formats.curves.threat_models import Capability, Knowledge


@dataclass(frozen=True)
class Interpolation(Attack):
    """Bisection of the line from the image to noise, or to an image of the target class."""

    name: ClassVar[str] = "interpolation"
    title: ClassVar[str] = "Interpolation"
    source: ClassVar[str] = "The first step of Brendel et al. 2018"
    knowledge: ClassVar[Knowledge] = Knowledge.DECISION
    capability: ClassVar[Capability] = Capability.OPTIMISED

    def run(self, batch: Batch) -> None:
        rows = batch.rows
        starts = batch.uniform(rows, *batch.images.shape[1:]) if batch.starts is None else batch.starts
        known = ~starts.flatten(1).isnan().any(dim=1)
        rows, starts = rows[known], starts[known]
        if not len(rows):
            return
        clean = batch.images[rows]
        low, high = torch.zeros(len(rows)), torch.ones(len(rows))
        share = high.clone()
        # a start that is not adversarial is never left
        for query in range(1, (batch.model.limit or _MOST) + 1):
            images = clean + expanded(share) * (starts - clean)
            reached = batch.adversarial(batch.model.labels(images, rows), rows)
            batch.findings.add(images[reached], rows[reached], query)
            high, low = torch.where(reached, share, high), torch.where(reached, low, share)
            if query == _MOST:
                break
            share = (low + high) / 2


_MOST = 16
"""Steps after which the images differ by less than their rounding."""
