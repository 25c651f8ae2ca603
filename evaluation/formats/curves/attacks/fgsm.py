"""Fast gradient sign method (Goodfellow et al. 2015): one step of the length of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch
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

    def run(self, batch: AttackedBatch) -> None:
        reached, gradient = batch.clean_gradient(batch.rows)
        rows = batch.rows
        if reached.any():
            batch.findings.add(batch.images[reached], rows[reached], 0)
            rows, gradient = rows[~reached], gradient[~reached]
        if not len(rows):
            return
        images = batch.one_step(gradient, rows)
        reached = batch.reached(images, rows)
        batch.findings.add(images[reached], rows[reached], 1)


@dataclass(frozen=True)
class TransferFgsm(Fgsm):
    """FGSM with the gradient of a substitute."""

    name: ClassVar[str] = "transfer-fgsm"
    title: ClassVar[str] = "FGSM (transfer)"
    knowledge: ClassVar[Knowledge] = Knowledge.TRANSFER
