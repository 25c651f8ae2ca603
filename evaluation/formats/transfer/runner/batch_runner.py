"""Play of single batches: an attack makes its images of one, and a defence labels them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images
from evaluation.formats.transfer.results import AttackBatch, BatchReason, BatchRun, DefenceBatch, ImageNote, RowNote
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash, read_all, read_file
from evaluation.formats.transfer.runner.batch_in_sandbox import (
    OUTPUT_DATA,
    OUTPUT_IMAGES,
    RESULT_FILE,
    RunEnvironment,
    run_batch,
)
from evaluation.formats.transfer.runner.batches import Batch, anonymous_names, png
from evaluation.formats.transfer.runner.defence_result_file import read_result_file
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer

_TARGETS = "target_class.csv"

OnLog = Callable[[TransferPlayer, str], None]
"""Called with the end of the output of each run."""


@dataclass(frozen=True, eq=False)
class BatchRunner:
    """Runs submissions on batches under one version of the rules. `seed` decides the names that defences see."""

    rules: TransferRules
    stage: RunEnvironment
    seed: int
    on_log: OnLog

    def attack(self, player: TransferPlayer, batch: Batch) -> AttackBatch:
        """Return what the attack `player` makes of `batch`."""
        files = dict(batch.files)
        if player.track is TransferTrack.TARGETED_ATTACK:
            files[_TARGETS] = batch.target_classes().encode()
        with run_batch(
            self.stage,
            player,
            files,
            lambda place: (place, str(batch.epsilon)),
            output=OUTPUT_IMAGES,
            seconds=self.rules.batch_seconds,
        ) as (directory, finished):
            self.on_log(player, finished.log)
            counted = batch.names if finished.run.reason is not BatchReason.TOO_MUCH_OUTPUT else ()
            images, notes = read_all(directory, counted, batch.images, batch.epsilon)
        left = len(batch.names) - len(images)
        images, notes = [*images, *[None] * left], [*notes, *[(ImageNote.MISSING,)] * left]
        return AttackBatch(
            attack=player.name,
            batch=batch.number,
            epsilon=batch.epsilon,
            images=np.stack([np.zeros(self.rules.shape, np.uint8) if image is None else image for image in images]),
            made=np.array([image is not None for image in images]),
            hashes=tuple("" if image is None else pixel_hash(image) for image in images),
            notes=tuple(notes),
            run=finished.run,
        )

    def defence(self, player: TransferPlayer, attack: TransferPlayer, batch: Batch, made: AttackBatch) -> DefenceBatch:
        """Return the labels that the defence `player` gives to what `attack` made of `batch`, at least one image."""
        names = anonymous_names(batch, attack.digest, player.digest, self.seed)
        labels, rows, run = self.label(
            player, [name if made.made[i] else "" for i, name in enumerate(names)], made.images
        )
        return DefenceBatch(
            defence=player.name, attack=attack.name, batch=batch.number, labels=labels, rows=rows, run=run
        )

    def label(
        self, player: TransferPlayer, names: Sequence[str], images: Images
    ) -> tuple[NDArray[np.int16], dict[RowNote, int], BatchRun]:
        """Return the labels that the defence `player` gives to `images`, what was noticed, and how it ran.

        `names` are those of the files, without ending; an image with an empty one is not given to it.
        """
        files = {f"{name}.png": png(image) for name, image in zip(names, images, strict=True) if name}
        with run_batch(
            self.stage,
            player,
            files,
            lambda place: (f"{place}/{RESULT_FILE}",),
            output=OUTPUT_DATA,
            seconds=self.rules.batch_seconds,
        ) as (directory, finished):
            self.on_log(player, finished.log)
            content = read_file(directory, RESULT_FILE, self.rules.result_bytes)
        if self.stage.used is not None and content is not None:
            self.stage.used.result_bytes = len(content)
        if finished.run.reason is BatchReason.TOO_MUCH_OUTPUT:
            content = None
        result = read_result_file(content, names, self.rules)
        run = finished.run
        return (
            result.labels,
            result.rows,
            run if run.reason or result.reason is None else replace(run, reason=result.reason),
        )
