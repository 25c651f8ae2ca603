"""Play of attacks against defences in both phases, as one match."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TypeVar

from evaluation.domain.samples import Sample
from evaluation.formats.transfer.results import AttackBatch, DefenceBatch
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.batch_in_sandbox import RunEnvironment
from evaluation.formats.transfer.runner.batch_runner import BatchRunner, OnLog
from evaluation.formats.transfer.runner.batch_store import BatchStore, images_digest, key_of
from evaluation.formats.transfer.runner.batches import Batch, make_batches
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.run_directories import sweep_workspaces
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.base import Resources, Sandbox

Task = TypeVar("Task")
Done = TypeVar("Done")
OnBatch = Callable[[AttackBatch | DefenceBatch | None], None]
"""Called after each batch; None is one that no defence was asked about, since nothing was made of it."""


@dataclass(frozen=True, eq=False)
class TransferMatch:
    """What is played: attacks of both tracks, defences, samples, and how."""

    rules: TransferRules
    attacks: Sequence[TransferPlayer]
    defences: Sequence[TransferPlayer]
    samples: Sequence[Sample]
    seed: int
    workers: int = 1

    def batches(self) -> tuple[Batch, ...]:
        """Return the batches of the samples."""
        return make_batches(self.samples, self.rules, self.seed)


@dataclass(frozen=True, eq=False)
class Phases:
    """Plays single batches, each at most once: what the store has is not played again."""

    runner: BatchRunner
    store: BatchStore

    def attack(self, player: TransferPlayer, batch: Batch) -> AttackBatch:
        """Return what the attack `player` makes of `batch`."""
        key = key_of("attack", player.digest, player.track, batch.digest, str(self._limits()))
        stored = self.store.attack(key, batch, player.name)
        return stored or self.store.keep_attack(key, batch, self.runner.attack(player, batch))

    def defence(
        self, player: TransferPlayer, attack: TransferPlayer, batch: Batch, made: AttackBatch
    ) -> DefenceBatch | None:
        """Return the labels that the defence `player` gives to what `attack` made of `batch`, None for nothing."""
        if not made.made.any():
            return None
        key = key_of("defence", player.digest, batch.digest, images_digest(made.hashes), str(self._limits()))
        stored = self.store.labels(key, defence=player.name, attack=attack.name, batch=batch.number)
        return stored or self.store.keep_labels(key, self.runner.defence(player, attack, batch, made))

    def _limits(self) -> tuple[object, ...]:
        """Return what decides a run besides the submission and the files."""
        rules, stage = self.runner.rules, self.runner.stage
        return (rules.batch_seconds, rules.result_bytes, stage.resources, stage.sandbox.name, self.runner.seed)


def play(
    match: TransferMatch,
    *,
    sandbox: Sandbox,
    directory: Path,
    resources: Resources,
    calibration: float = 1.0,
    on_batch: OnBatch,
    on_log: OnLog,
) -> TransferResult:
    """Play both phases of `match`, `workers` batches at a time. Batches that `directory` has are not played again.

    A failure of a submission is part of the result; a failure of the host raises `Fault`, after all runs were ended.
    """
    sweep_workspaces(sandbox)
    stop = threading.Event()
    stage = RunEnvironment(sandbox, resources, calibration, stop)
    phases = Phases(BatchRunner(match.rules, stage, match.seed, on_log), BatchStore(directory))
    batches = match.batches()

    def attack(task: tuple[TransferPlayer, Batch]) -> AttackBatch:
        return phases.attack(*task)

    def defend(task: tuple[TransferPlayer, tuple[TransferPlayer, Batch, AttackBatch]]) -> DefenceBatch | None:
        defence, (attacker, batch, made) = task
        return phases.defence(defence, attacker, batch, made)

    tasks = list(product(match.attacks, batches))
    made = _all(tasks, attack, match.workers, stop, on_batch)
    outputs = [(player, batch, images) for (player, batch), images in zip(tasks, made, strict=True)]
    labelled = _all(list(product(match.defences, outputs)), defend, match.workers, stop, on_batch)
    defended = tuple(labels for labels in labelled if labels is not None)
    return TransferResult(match.rules, tuple(match.attacks), tuple(match.defences), batches, tuple(made), defended)


def _all(
    tasks: Sequence[Task],
    work: Callable[[Task], Done],
    workers: int,
    stop: threading.Event,
    on_done: Callable[[Done], None],
) -> list[Done]:
    """Return the results of `tasks` in their order. If one raises, or at Ctrl-C, end every run and raise."""
    with ThreadPoolExecutor(workers, thread_name_prefix="batch") as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for future in as_completed(futures):
                on_done(future.result())
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]
