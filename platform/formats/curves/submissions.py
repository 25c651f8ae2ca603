"""Adapter: checks of a commit of the curves format, and its smoke test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from competitions.models import RulesVersion
from core.errors import Fault, Refusal
from evaluation.builder.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    irregular_manifest,
    missing_manifest,
    parse_within_limits,
)
from evaluation.builder.run_script_check import require_script
from evaluation.domain.smoke_checks import SmokeCheck, not_reached
from evaluation.formats.curves.models.sandboxed import (
    GRACE_SECONDS,
    ModelFailedError,
    SandboxedClassifier,
    as_images,
    sandboxed,
)
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.runner.offered_answers import NAME as ANSWERS
from evaluation.formats.curves.runner.offered_answers import check_answers
from evaluation.formats.curves.threat_models import Knowledge
from formats.curves.engine_adapter import needed_answers
from formats.curves.player_builds import ready_player
from formats.curves.rules import curves_rules
from formats.curves.tracks import MODEL
from repositories.git_reader import GitReader, TreeFile
from submissions.build_plans import PLAIN_FILES, plan_of
from submissions.checked_commit import CheckedCommit
from submissions.models import Player
from submissions.player_builds import LogLine
from submissions.smoke_test import SmokeTest
from workers.calibration import calibration
from workers.sandboxes import open_sandbox, resources
from workers.selectors import gpu_worker_is_live
from workers.worker_slot import device_of, slot

SAMPLES = 20
"""Number of samples of a smoke test, if there are enough."""


def check_commit(track_name: str, commit: str, files: Sequence[TreeFile], reader: GitReader) -> CheckedCommit:
    """Check a commit with `files` before anything is built; raise `Refusal` for the first error."""
    file = next((file for file in files if file.path == MANIFEST_NAME), None)
    if file is None:
        raise missing_manifest(f"commit {commit[:7]}")
    if file.mode not in PLAIN_FILES:
        raise irregular_manifest()
    manifest = parse_within_limits(reader.content(file.object, MAX_MANIFEST_BYTES + 1))
    if manifest.track != MODEL:
        raise Refusal(
            f'{MANIFEST_NAME} says track = "{manifest.track}", but only models are submitted here',
            fix=f'submit a model, and write track = "{MODEL}"',
        )
    if manifest.gpu and not gpu_worker_is_live():  # its build would be useless
        raise Refusal(
            f"{MANIFEST_NAME} says gpu = true, and no worker with a GPU is running now",
            fix="write gpu = false if a CPU is enough, or push again when the Status page shows a GPU worker",
        )
    require_script(manifest.run, [file.path for file in files])
    return CheckedCommit(manifest.title, manifest.licence, plan_of(files, reader))


class CurvesSmokeTest(SmokeTest[CurvesRules]):
    """The model labels the first development samples, twice, and answers what else the attacks of the rules need."""

    @staticmethod
    def rules_of(version: RulesVersion) -> CurvesRules:
        return curves_rules(version)

    def player_seconds(self) -> float:
        rounds = 4 + 4 * len(self._needed())  # a round of scores or gradients takes longer
        return self.rules.setup_seconds + rounds * (GRACE_SECONDS + SAMPLES * self.rules.model_seconds_per_image)

    def _needed(self) -> frozenset[Knowledge]:
        return needed_answers(self.rules) - {Knowledge.DECISION}

    def check(self, player: Player, on_log: LogLine, on_piece: Callable[[], None]) -> tuple[SmokeCheck, ...]:
        """Raise `Fault` also if the player needs a GPU and this host has none, which is no user error."""
        device = device_of(slot())
        if player.gpu and device is None:
            raise Fault("the player needs a GPU and this builder has none: only GPU hosts may consume the queue build")
        try:
            with sandboxed(
                ready_player(player, on_log), sandbox=open_sandbox(), shape=self.rules.shape,
                classes=self.rules.classes, setup_seconds=self.rules.setup_seconds,
                seconds_per_image=self.rules.model_seconds_per_image, calibration=calibration(),
                resources=resources(device), on_log=lambda output: _log(output, on_log),
            ) as model:  # fmt: skip
                return self._checks(model)
        except ModelFailedError as error:
            failed = SmokeCheck("rules", False, error.reason.text, error.detail, fix=_FIXES["rules"])
            return (failed, *not_reached("accuracy", "time", "stateless", *[ANSWERS] * bool(self._needed())))

    def _checks(self, model: SandboxedClassifier) -> tuple[SmokeCheck, ...]:
        samples = self.samples[:SAMPLES]
        images = as_images(np.stack([sample.image for sample in samples]))
        first = model.labels(images)
        # in another order, and alone: a label must depend on its image only
        again = torch.cat([*(model.labels(image[None]) for image in images.flip(0)[: len(images) // 2])])
        right = sum(int(label) == sample.label for label, sample in zip(first.tolist(), samples, strict=True))
        changed = int((first.flip(0)[: len(again)] != again).sum())
        seconds, limit = model.seconds / model.images, self.rules.model_seconds_per_image * calibration()
        least = self.least_accuracy
        answers = check_answers(model, images, self._needed())
        return (
            SmokeCheck("rules", True, "it answers as the protocol asks"),
            SmokeCheck(
                "accuracy", right >= least * len(samples),
                f"{right} of {len(samples)} clean images labelled right, at least {least:.0%} required",
                fix=_FIXES["accuracy"],
            ),
            SmokeCheck(
                "time", seconds <= limit, f"{seconds * 1000:.2f} ms an image, at most {limit * 1000:.0f} ms",
                fix=_FIXES["time"],
            ),
            SmokeCheck(
                "stateless", not changed, f"{changed} of {len(again)} images got another label when asked again",
                fix=_FIXES["stateless"],
            ),
            *([answers] if answers else []),
        )  # fmt: skip


_FIXES = {
    "rules": "serve the model with serve_model of the SDK, and load its weights before",
    "accuracy": "use the preprocessing and the class order of the competition",
    "time": "make the model smaller or faster",
    "stateless": "return the same label for the same image: no randomness, no memory, no use of other images",
}


def _log(output: bytes, on_log: LogLine) -> None:
    for line in output.decode(errors="replace").splitlines():
        on_log(line)
