"""Check of the scores and gradients that a submission offers, as smoke tests make it."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from evaluation.domain.smoke_test_result import SmokeCheck
from evaluation.formats.curves.models.replayed_queries_check import gradients_differ, scores_differ
from evaluation.formats.curves.models.sandboxed_classifier import SandboxedClassifier
from evaluation.formats.curves.threat_models import Knowledge

NAME = "scores"
"""The name of the check."""

_ANSWERS = {Knowledge.DECISION: "labels", Knowledge.SCORE: "scores", Knowledge.WHITE_BOX: "gradients"}
"""What a model answers so that an attack with this knowledge can be run; a white-box one needs scores, too."""

_OFFER = (
    "pass the functions scores and gradients to serve_model of the SDK: serve_model(predict, scores=..., gradients=...)"
)
_REPAIR = "compute labels, scores and gradients with one network: no randomness, no memory, no use of other images"


def check_answers(model: SandboxedClassifier, images: Tensor, needed: Iterable[Knowledge]) -> SmokeCheck | None:
    """Ask for what attacks with the `needed` knowledge ask for, twice; None if labels are enough.

    Scores must be those of the labels, and scores and gradients functions of one image. Raise `ModelFailedError` for
    answers that no attack can use.
    """
    answers = [each for each in _ANSWERS if each in needed and each is not Knowledge.DECISION]
    if not answers:
        return None
    missing = [_ANSWERS[each] for each in answers if each not in model.offers]
    if missing:
        offered = " and ".join(name for each, name in _ANSWERS.items() if each in model.offers)
        seen = f"it offers {offered}, and the attacks of the competition also need {' and '.join(missing)}"
        return SmokeCheck(NAME, False, seen, fix=_OFFER)
    scores = model.logits(images)
    counts = {"scores below another than the label's": int((scores.argmax(dim=1) != model.labels(images)).sum())}
    # in another order, and alone, as with labels
    again = torch.cat([model.logits(image[None]) for image in images.flip(0)]).flip(0)
    counts["other scores when asked again"] = int(scores_differ(scores.numpy(), again.numpy()).sum())
    if Knowledge.WHITE_BOX in answers:
        weights = torch.eye(model.classes)[scores.argmax(dim=1)]
        first = model.product(images, weights)
        second = torch.cat([model.product(image[None], own[None]) for image, own in zip(images, weights, strict=True)])
        counts["other gradients when asked again"] = int(gradients_differ(first.numpy(), second.numpy()).sum())
    seen = "; ".join(f"{count} of {len(images)} images with {what}" for what, count in counts.items())
    return SmokeCheck(NAME, not any(counts.values()), seen, fix=_REPAIR)
