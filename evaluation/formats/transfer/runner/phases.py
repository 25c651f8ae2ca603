"""The two phases: every attack makes its images of every batch, then every defence labels all of them."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.formats.transfer.results import AttackBatch, DefenceBatch
from evaluation.formats.transfer.runner.batch_runner import BatchRunner
from evaluation.formats.transfer.runner.batch_store import BatchStore, images_digest, key_of
from evaluation.formats.transfer.runner.batches import Batch
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer


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
