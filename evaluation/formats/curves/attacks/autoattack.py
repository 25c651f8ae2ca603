"""AutoAttack (Croce and Hein 2020): an ensemble of attacks without parameters to choose, and its warnings."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.domain.explained_enum import ExplainedName
from evaluation.formats.curves.attacks.apgd import ApgdCe, ApgdT
from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, Findings
from evaluation.formats.curves.attacks.fab import FabT
from evaluation.formats.curves.attacks.square import Square
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge


@dataclass(frozen=True)
class AutoAttack(Attack):
    """Its attacks one after the other, each on the images that withstood those before.

    The strength is the number of attacks, so that the trace tells what each of them adds.
    """

    name: ClassVar[str] = "autoattack"
    title: ClassVar[str] = "AutoAttack"
    source: ClassVar[str] = "Croce and Hein 2020 (Reliable evaluation), standard version"
    knowledge: ClassVar[Knowledge] = Knowledge.WHITE_BOX
    capability: ClassVar[Capability] = Capability.CONSTRAINED
    goals: ClassVar[frozenset[Goal]] = frozenset({Goal.UNTARGETED})
    fixed_budget_only: ClassVar[bool] = True

    strengths: ClassVar[tuple[int, ...]] = (0, 1, 2, 3, 4)

    attacks: tuple[Attack, ...] = (ApgdCe(), ApgdT(), FabT(), Square())
    queries: int = 5000
    """Of an image, at most, in an attack of the ensemble that has no other end."""

    def run(self, batch: AttackedBatch) -> None:
        findings, model = batch.findings, batch.model
        try:
            for number, attack in enumerate(self.attacks, start=1):
                if findings.found.all():
                    break
                batch.findings = Findings(batch.images, batch.norm)
                known = findings.found
                batch.findings.add(findings.images[known], batch.rows[known], 0)
                batch.model = model.part(self.queries if attack.knowledge is Knowledge.SCORE else None)
                attack.run(batch)
                model.add_costs(batch.model)
                within = batch.findings.distances <= batch.budgets
                rows = batch.rows[within & ~known]
                # an image that is adversarial without a change took no attack
                spent = torch.where(batch.findings.distances[rows] > 0, number, 0)
                findings.add(batch.findings.images[rows], rows, spent)
        finally:
            batch.findings, batch.model = findings, model


class AutoAttackWarning(ExplainedName):
    """Why AutoAttack may say too little of a model (flags and shortened texts of the authors' code)."""

    RANDOMISED = "randomised", "the model is random; take the mean over passes (expectation over transformations)"
    """It answers one image in different ways."""
    PROBABILITIES = "probabilities", "the model answers probabilities, whose gradients vanish; use its logits"
    """Its scores are probabilities, whose logarithm is not taken: gradients vanish."""
    ZERO_GRADIENTS = "zero gradients", "gradients vanish for some images; an approximate gradient (BPDA) may be needed"
    """The gradient of the margin vanishes for some image."""
    DYNAMIC = "dynamic", "the defence optimises while it answers; only an adaptive attack is reliable"
    """It optimises while it answers."""


def warnings_of(classifier: Classifier, images: Tensor) -> frozenset[AutoAttackWarning]:
    """Return the warnings for a model, from its answers for some clean images; limits as in the authors' code."""
    found = set()
    answers = torch.stack([classifier.logits(images) for _ in range(5)])
    unit = answers / (torch.linalg.vector_norm(answers, dim=2, keepdim=True) + 1e-10)
    spread = torch.linalg.vector_norm(unit[:, None] - unit[None, :], dim=3).max()
    if spread > 1e-4 or (answers.argmax(dim=2) != answers[0].argmax(dim=1)).any():
        found.add(AutoAttackWarning.RANDOMISED)
    scores = answers[0]
    if scores.max() < 1 + 1e-5 and scores.min() > -1e-5 and ((scores.sum(dim=1) - 1).abs() < 1e-5).all():
        found.add(AutoAttackWarning.PROBABILITIES)
    _, gradient = classifier.gradient(images, _margin)
    if (gradient.flatten(1).abs().sum(dim=1) == 0).any():
        found.add(AutoAttackWarning.ZERO_GRADIENTS)
    if _optimises(classifier, images[:1]):
        found.add(AutoAttackWarning.DYNAMIC)
    return frozenset(found)


def _margin(logits: Tensor) -> Tensor:
    highest = logits.topk(2, dim=1).values
    return highest[:, 1] - highest[:, 0]


def _optimises(classifier: Classifier, images: Tensor) -> bool:
    """Return whether gradients are taken in this thread while the model answers."""
    of_gradients = {torch.autograd.grad.__code__, torch.autograd.backward.__code__}
    seen = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in of_gradients:
            seen.append(event)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        classifier.logits(images)
    finally:
        sys.setprofile(before)
    return bool(seen)
