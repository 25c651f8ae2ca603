"""The smoke test of a model: it labels the first development samples, twice, and answers what else attacks need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch

from evaluation.domain.limit_use import LimitUse
from evaluation.domain.players import Program
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_test_pictures import PicturedSmokeSample, bounded
from evaluation.domain.smoke_test_result import SmokeCheck, SmokeTestResult, not_reached
from evaluation.formats.curves.models.sandboxed_classifier import (
    ModelFailedError,
    SandboxedClassifier,
    as_images,
    sandboxed,
)
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.runner.offered_answers_check import NAME as ANSWERS
from evaluation.formats.curves.runner.offered_answers_check import check_answers
from evaluation.formats.curves.threat_models import Knowledge
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.peak_use import MostUsed

SAMPLES = 20
"""Number of samples of a smoke test, if there are enough."""

_FIXES = {
    "rules": "serve the model with serve_model of the SDK, and load its weights before",
    "accuracy": "use the preprocessing and the class order of the competition",
    "time": "make the model smaller or faster",
    "stateless": "return the same label for the same image: no randomness, no memory, no use of other images",
}


def needed_of(knowledge: Iterable[Knowledge]) -> frozenset[Knowledge]:
    """Return what a model must offer beside labels, so that attacks that see this much of it can be run."""
    needed = frozenset(knowledge)
    return (needed | {Knowledge.SCORE} if Knowledge.WHITE_BOX in needed else needed) - {Knowledge.DECISION}


def check_model(
    program: Program,
    *,
    samples: Sequence[Sample],
    rules: CurvesRules,
    needed: Collection[Knowledge],
    least_accuracy: float,
    sandbox: Sandbox,
    calibration: float,
    resources: Resources | None = None,
    on_log: Callable[[bytes], None] | None = None,
) -> SmokeTestResult:
    """Start a model and check it on the first of `samples`; raise `Fault` for errors of the platform."""
    resources, used = resources or Resources(), MostUsed()
    seconds: float | None = None
    try:
        with sandboxed(
            program, sandbox=sandbox, shape=rules.shape, classes=rules.classes, setup_seconds=rules.setup_seconds,
            seconds_per_image=rules.model_seconds_per_image, calibration=calibration, resources=resources,
            on_log=on_log, used=used,
        ) as model:  # fmt: skip
            found, seconds = _checks(model, samples[:SAMPLES], needed, least_accuracy, rules, calibration)
    except ModelFailedError as error:
        failed = SmokeCheck("rules", False, error.reason.text, error.detail, fix=_FIXES["rules"])
        rest = not_reached("accuracy", "time", "stateless", *[ANSWERS] * bool(needed))
        found = SmokeTestResult((failed, *rest), "")
    limits = (
        used.set_up(rules.setup_seconds, calibration),
        LimitUse("time for an image", seconds, rules.model_seconds_per_image),
        *used.of(resources),
    )
    return replace(found, limits=limits)


def _checks(
    model: SandboxedClassifier,
    samples: Sequence[Sample],
    needed: Collection[Knowledge],
    least: float,
    rules: CurvesRules,
    calibration: float,
) -> tuple[SmokeTestResult, float]:
    """Return the result, and the reference seconds of a label."""
    images = as_images(np.stack([sample.image for sample in samples]))
    first = model.labels(images)
    # in another order, and alone: a label must depend on its image only
    again = torch.cat([*(model.labels(image[None]) for image in images.flip(0)[: len(images) // 2])])
    right = sum(int(label) == sample.label for label, sample in zip(first.tolist(), samples, strict=True))
    changed = int((first.flip(0)[: len(again)] != again).sum())
    seconds, limit = model.seconds_per_image / calibration, rules.model_seconds_per_image
    answers = check_answers(model, images, needed)
    pictures = [
        PicturedSmokeSample(label=sample.label, clean=sample.image, clean_label=int(label))
        for sample, label in zip(samples, first.tolist(), strict=True)
    ]
    checks = (
        SmokeCheck("rules", True, "it answers as the protocol asks"),
        SmokeCheck(
            "accuracy", right >= least * len(samples),
            f"{right} of {len(samples)} clean images labelled right, at least {least:.0%} required",
            fix=_FIXES["accuracy"],
        ),
        SmokeCheck(
            "time", seconds <= limit, f"{seconds * 1000:.2f} ms an image, at most {limit * 1000:g} ms",
            fix=_FIXES["time"],
        ),
        SmokeCheck(
            "stateless", not changed, f"{changed} of {len(again)} images got another label when asked again",
            fix=_FIXES["stateless"],
        ),
        *([answers] if answers else []),
    )  # fmt: skip
    return SmokeTestResult(checks, "", pictures=bounded(pictures)), seconds
