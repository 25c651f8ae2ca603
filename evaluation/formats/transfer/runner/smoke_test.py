"""Smoke test of the transfer format: one small batch of public images before a submission is evaluated."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evaluation.builder.player_exception import MOST_CHARACTERS, last_exception
from evaluation.domain.limit_use import LimitUse, Unit
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_test_pictures import PicturedSmokeSample, bounded
from evaluation.domain.smoke_test_result import SmokeCheck, SmokeTestResult, not_reached
from evaluation.formats.transfer.results import NO_LABEL, AttackBatch, BatchReason, BatchRun, DefenceBatch, ImageNote
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash
from evaluation.formats.transfer.runner.batch_in_sandbox import CODE, FREE_FILES, OUTPUT_IMAGES, RunEnvironment, RunUse
from evaluation.formats.transfer.runner.batch_runner import BatchRunner
from evaluation.formats.transfer.runner.batches import Batch, make_batches
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.host_path_redaction import HostPaths

SAMPLES = 10
"""Number of images of the batch."""

RUN, IMAGES, LABELS, ACCURACY = "run", "images", "labels", "accuracy"
"""The names of the checks."""

_FIXES = {
    BatchReason.TOO_SLOW: "make it faster: a batch of up to {images} images may take {seconds:g} s by the clock",
    BatchReason.CRASHED: "find out why its process ended with an error; the log shows its output",
    BatchReason.OUT_OF_MEMORY: "use less memory: smaller steps, fewer copies",
    BatchReason.TOO_MUCH_OUTPUT: "write the output files only, and nothing else",
    BatchReason.NO_RESULT: "write the result file whose path is the second argument",
    BatchReason.RESULT_TOO_LARGE: "write one short line NAME.png,CLASS for each image, and nothing else",
    BatchReason.UNREADABLE_RESULT: "write the result file as text in UTF-8: lines NAME.png,CLASS",
}


def check_submission(
    player: TransferPlayer,
    *,
    rules: TransferRules,
    samples: Sequence[Sample],
    least_accuracy: float,
    stage: RunEnvironment,
    seed: int,
    on_log: Callable[[str], None],
    most: int = SAMPLES,
) -> SmokeTestResult:
    """Run `player` on one batch of at most `most` of the `samples` and return the checks and the pictures.

    An attack must write every image; a defence must label every clean image, and `least_accuracy` of them right.
    `on_log` gets each line of the output. Raise `Fault` if the host failed.
    """
    log: list[str] = []

    def hear(_: TransferPlayer, text: str) -> None:
        log.append(text)
        for line in text.splitlines():
            on_log(line)

    used = RunUse()
    runner = BatchRunner(rules, replace(stage, used=used), seed, hear)
    chosen = random.Random(f"smoke {seed}").sample(list(samples), min(most, rules.batch_images, len(samples)))
    batch = make_batches(chosen, rules, seed)[0]
    if player.track.is_attack:
        made = runner.attack(player, batch)
        checks = _checks(rules, made.run, "".join(log), IMAGES, of=lambda: [_images(made)])
        return SmokeTestResult(
            checks,
            "".join(log),
            pictures=_made(made, batch, targeted=player.track is TransferTrack.TARGETED_ATTACK),
            limits=_limits(used, made.run, len(batch.samples), rules, stage),
        )
    labels = runner.defence(player, player, batch, _clean(batch))
    checks = _checks(
        rules, labels.run, "".join(log), LABELS, ACCURACY, of=lambda: _labels(labels, batch, least_accuracy)
    )
    limits = _limits(used, labels.run, len(batch.samples), rules, stage)
    size = None if used.result_bytes is None else used.result_bytes * rules.batch_images / len(batch.samples)
    result = LimitUse(
        "size of the result file",
        size,
        rules.result_bytes,
        Unit.BYTES,
        estimated=len(batch.samples) < rules.batch_images,
    )
    return SmokeTestResult(checks, "".join(log), pictures=_labelled(labels, batch), limits=(*limits, result))


def _limits(
    used: RunUse, run: BatchRun, images: int, rules: TransferRules, stage: RunEnvironment
) -> tuple[LimitUse, ...]:
    """Return what the run used of its limits, extended to a whole batch as if everything grew with the images."""
    scale, smaller = rules.batch_images / images, images < rules.batch_images
    written = None if used.bytes is None else used.bytes * scale
    files = None if used.files is None else used.files * scale
    return (
        LimitUse(
            f"time for a batch of {rules.batch_images} images",
            run.seconds * scale,
            rules.batch_seconds,
            estimated=smaller,
        ),
        *used.most.of(stage.resources),
        LimitUse("files left on the disk", written, stage.resources.scratch_bytes, Unit.BYTES, estimated=smaller),
        LimitUse("number of these files", files, rules.batch_images + FREE_FILES, Unit.COUNT, estimated=smaller),
    )


def _checks(
    rules: TransferRules, run: BatchRun, log: str, *names: str, of: Callable[[], list[SmokeCheck]]
) -> tuple[SmokeCheck, ...]:
    """Return the check of the run, then those of its output, which a run that failed did not reach."""
    if run.reason is None:
        return (SmokeCheck(RUN, True, f"it ended after {run.seconds:.1f} s"), *of())
    shown = HostPaths().shorten(log)
    raised = last_exception(shown, Path(CODE))
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    headline = str(raised or run)
    if raised is None and lines:
        headline += f"; its last output: {lines[-1][:MOST_CHARACTERS]}"
    fix = _FIXES[run.reason].format(seconds=rules.batch_seconds, images=rules.batch_images)
    return (SmokeCheck(RUN, False, str(run), headline, fix), *not_reached(*names))


def _images(made: AttackBatch) -> SmokeCheck:
    count, whole = int(made.made.sum()), len(made.made)
    notes = [f"{made.count(note)} {note}" for note in ImageNote if made.count(note)]
    seen = ", ".join([f"{count} of {whole} images", *notes])
    if count == whole:
        return SmokeCheck(IMAGES, True, seen)
    fix = f"write one PNG file of the same name for each input image to the output directory, {OUTPUT_IMAGES}"
    return SmokeCheck(IMAGES, False, seen, f"It made {count} of {whole} images", fix)


def _labels(labels: DefenceBatch, batch: Batch, least_accuracy: float) -> list[SmokeCheck]:
    whole, given = len(labels.labels), int((labels.labels != NO_LABEL).sum())
    notes = [f"{count} {'row' if count == 1 else 'rows'}: {note.text}" for note, count in labels.rows.items() if count]
    seen = "; ".join([f"{given} of {whole} images labelled", *notes])
    if given < whole:
        fix = "write one line NAME.png,CLASS for each input image to the result file; classes are counted from 1"
        failed = SmokeCheck(LABELS, False, seen, f"It labelled {given} of {whole} images", fix)
        return [failed, *not_reached(ACCURACY)]
    right = sum(int(label) == sample.label for label, sample in zip(labels.labels, batch.samples, strict=True))
    passed, needed = right >= least_accuracy * whole, math.ceil(least_accuracy * whole)
    correct = f"{right} of {whole} clean images labelled right; needed: {needed}"
    fix = "" if passed else "check how it reads the images, and that classes are counted from 1"
    return [SmokeCheck(LABELS, True, seen), SmokeCheck(ACCURACY, passed, correct, fix=fix)]


def _made(made: AttackBatch, batch: Batch, *, targeted: bool) -> tuple[PicturedSmokeSample, ...]:
    """Return the clean images and what the attack made of them; none where it made nothing."""
    if not made.made.any():
        return ()
    return bounded(
        [
            PicturedSmokeSample(
                label=sample.label,
                target=sample.target if targeted else None,
                clean=sample.image,
                perturbed=image if done else None,
            )
            for sample, image, done in zip(batch.samples, made.images, made.made.tolist(), strict=True)
        ]
    )


def _labelled(labels: DefenceBatch, batch: Batch) -> tuple[PicturedSmokeSample, ...]:
    """Return the clean images with the labels of the defence; none where it labelled nothing."""
    given = labels.labels.tolist()
    if all(label == NO_LABEL for label in given):
        return ()
    return bounded(
        [
            PicturedSmokeSample(label=sample.label, clean=sample.image, clean_label=label)
            for sample, label in zip(batch.samples, given, strict=True)
        ]
    )


def _clean(batch: Batch) -> AttackBatch:
    """Return the clean images as if an attack had made them."""
    whole = len(batch.samples)
    return AttackBatch(
        attack="",
        batch=batch.number,
        epsilon=batch.epsilon,
        images=batch.images,
        made=np.ones(whole, np.bool_),
        hashes=tuple(pixel_hash(image) for image in batch.images),
        notes=((),) * whole,
        run=BatchRun(0.0),
    )
