"""Fast gradient sign method (Goodfellow et al. 2015): one step of the length of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evaluation.formats.curves.attacks.base import Attack, Batch, expanded
from evaluation.formats.curves.threat_models import Capability, Knowledge


@dataclass(frozen=True)
class Fgsm(Attack):
    """One step along the sign of the gradient, or along the gradient in L2."""

    name: ClassVar[str] = "fgsm"
    title: ClassVar[str] = "FGSM"
    source: ClassVar[str] = "Goodfellow et al. 2015"
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.CONSTRAINED
    one_step: ClassVar[bool] = True

    def run(self, batch: Batch) -> None:
        rows = batch.rows
        _, gradient = batch.model.gradient(batch.images, rows, batch.loss(rows))
        images = batch.project(batch.images + expanded(batch.budgets) * batch.steepest(gradient), rows)
        reached = batch.adversarial(batch.model.labels(images, rows), rows)
        batch.findings.add(images[reached], rows[reached], 1)
