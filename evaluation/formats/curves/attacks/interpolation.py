"""Interpolation: the nearest adversarial on the line to an adversarial start, a simple decision-based attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from evaluation.formats.curves.attacks.base import Attack, Batch, expanded
from evaluation.formats.curves.threat_models import Capability, Knowledge


@dataclass(frozen=True)
class Interpolation(Attack):
    """Bisection of the line from the image to its start."""

    name: ClassVar[str] = "interpolation"
    title: ClassVar[str] = "Interpolation"
    source: ClassVar[str] = "The first step of Brendel et al. 2018"
    knowledge: ClassVar[Knowledge] = Knowledge.DECISION
    capability: ClassVar[Capability] = Capability.OPTIMISED

    def run(self, batch: Batch) -> None:
        if batch.starts is None:
            raise ValueError("interpolation needs adversarial starts")
        rows = batch.rows
        low, high = torch.zeros(len(rows)), torch.ones(len(rows))
        share = high.clone()
        for query in range(1, (batch.model.limit or _MOST) + 1):
            images = batch.images + expanded(share) * (batch.starts - batch.images)
            reached = batch.adversarial(batch.model.labels(images, rows), rows)
            batch.findings.add(images[reached], rows[reached], query)
            high, low = torch.where(reached, share, high), torch.where(reached, low, share)
            if query == _MOST:
                break
            share = (low + high) / 2


_MOST = 16
"""Steps after which the images differ by less than their rounding."""
