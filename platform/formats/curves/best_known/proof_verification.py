"""Adapter: verifies a proof in the sandbox of its model.

It loads PyTorch, which takes seconds and some 200 MB: only a worker that verifies imports it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from core.errors import Fault
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError, sandboxed
from evaluation.formats.curves.proofs.image_verdict import ImageVerdict
from evaluation.formats.curves.proofs.verification import DeadlineExceededError, verdicts
from evaluation.formats.curves.results import Floats
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.threat_models import Norm
from formats.curves.best_known.proof_comparison import DEADLINE_SECONDS, images_of
from formats.curves.models import Proof
from formats.curves.player_builds import ready_player
from workers.calibration import calibration, require_steady
from workers.sandboxes import Sandbox, resources
from workers.slot_device import device_of, slot

log = logging.getLogger(__name__)


def verified(proof: Proof, best: Mapping[Norm, Floats], sandbox: Sandbox) -> dict[str, Any]:
    """Verify a proof in `sandbox`; return the columns of its result. Raise `Fault` for a platform error.

    `best` are the distances that are known, (images of the round,) in each norm: the model is asked only about what
    would lower them.
    """
    images = images_of(proof)
    asked = images.lower_any(best)
    found = np.full(len(asked), ImageVerdict.FAR.value, object)
    try:
        if asked.any():
            found[asked] = verdicts(
                lambda: _instance(proof, sandbox), images.changed[asked], images.labels[asked],
                seed=secrets.randbits(63), seconds=DEADLINE_SECONDS,
            )  # fmt: skip
    except ModelFailedError as error:
        gpu = proof.round_entry.player.gpu
        require_steady(calibration(gpu=gpu), error.reason, gpu=gpu)
        return {"outcome": Proof.Outcome.MODEL_FAILED, "reason": str(error.reason), "detail": error.detail}
    except DeadlineExceededError:
        return {"outcome": Proof.Outcome.TOO_LONG}
    return {"outcome": Proof.Outcome.VERIFIED, "verdicts": [str(each) for each in found]}


def _instance(proof: Proof, sandbox: Sandbox) -> AbstractContextManager[Classifier]:
    """Start the model in its sandbox."""
    round_ = proof.round_entry.round
    if round_.rules is None:
        raise Fault(f"{round_} has no rules")
    rules = round_.rules.rules_as(CurvesRules)
    return sandboxed(
        ready_player(proof.round_entry.player, log.debug), sandbox=sandbox, shape=rules.shape,
        classes=rules.classes, setup_seconds=rules.setup_seconds, seconds_per_image=rules.model_seconds_per_image,
        calibration=calibration(gpu=proof.round_entry.player.gpu), resources=resources(device_of(slot())),
    )  # fmt: skip
