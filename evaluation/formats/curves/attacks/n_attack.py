"""N-Attack (Li et al. 2019): learn the mean of a Gaussian around an image, most samples of which are adversarial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch
from evaluation.formats.curves.attacks.query_limit import affordable, ask, in_pieces, rows_to_attack
from evaluation.formats.curves.threat_models import Capability, Knowledge

_INSIDE = 1.0 - 1e-6
"""Black and white would lie at infinity in the space of the Gaussian."""


@dataclass(frozen=True)
class NAttack(Attack):
    """Natural evolution of the mean in tanh space; samples, and the image of the mean, are projected into the budget.

    A draw is started if its samples and the query that checks the image of the mean fit in the limit.
    """

    name: ClassVar[str] = "n-attack"
    title: ClassVar[str] = "N-Attack"
    source: ClassVar[str] = "Li et al. 2019; parameters: authors' code of Dong et al. 2020"
    knowledge: ClassVar[Knowledge] = Knowledge.SCORE
    capability: ClassVar[Capability] = Capability.CONSTRAINED

    samples: int = 100
    """Of each draw."""
    sigma: float = 0.1
    """Standard deviation of the Gaussian."""
    rate: float = 0.02
    first_deviation: float = 0.001
    """Standard deviation of the first mean."""

    def run(self, batch: AttackedBatch) -> None:
        rows = affordable(batch, rows_to_attack(batch), self.samples + 1)
        clean = torch.atanh((2.0 * batch.images - 1.0) * _INSIDE)
        mean = torch.zeros_like(clean)
        if len(rows):
            mean[rows] = self.first_deviation * batch.normal(rows, *clean.shape[1:])
        while len(rows := affordable(batch, rows, self.samples + 1)):
            for piece in in_pieces(rows, self.samples):
                mean[piece] += self.rate * self._slope(batch, clean[piece] + mean[piece], piece)
            images = batch.project(_image(clean[rows] + mean[rows]), rows)
            rows = rows[~ask(batch, images, rows)]

    def _slope(self, batch: AttackedBatch, centres: Tensor, rows: Tensor) -> Tensor:
        """Return along which changes of the mean the normalised margin of the samples rises, like `centres`."""
        drawn = batch.normal(rows, self.samples, *centres.shape[1:])
        owners = rows.repeat_interleave(self.samples)
        samples = batch.project(_image((centres[:, None] + self.sigma * drawn).flatten(0, 1)), owners)
        margins = batch.margin(owners)(batch.model.logits(samples, owners)).view(len(rows), self.samples)
        spread, centre = torch.std_mean(margins, dim=1, correction=0, keepdim=True)
        weights = (margins - centre) / (spread + 1e-7)
        return torch.einsum("ns,ns...->n...", weights, drawn) / (self.samples * self.sigma)


def _image(values: Tensor) -> Tensor:
    return (0.5 * (values.tanh() / _INSIDE + 1.0)).clamp(0.0, 1.0)
