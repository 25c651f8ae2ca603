"""Adapter: the smoke test of the transfer format, one small batch of public images."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from competitions.models import Competition
from competitions.rules import least_accuracy, transfer_rules
from competitions.sample_store import samples_of
from competitions.selectors import rules_in_force
from competitions.smoke_opponents import development_set
from core.errors import Fault, Refusal
from evaluation.domain.errors import BuildRefusal
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_checks import SmokeCheck
from evaluation.domain.transfer_rules import TransferRules
from evaluation.transfer.limits import resources
from evaluation.transfer.run_batch import Stage
from evaluation.transfer.smoke_test import check_submission
from submissions.models import Player
from submissions.player_builds import LogLine
from submissions.transfer_builds import ready_player
from workers.calibration import calibration
from workers.sandboxes import open_sandbox
from workers.worker_slot import device_of, slot

MARGIN = timedelta(minutes=10)
"""Time beyond the submission's own limit: the start, and the check of the host after a crash."""


@dataclass(frozen=True, eq=False)
class TransferSmokeTest:
    """Samples and rules of a smoke test."""

    rules: TransferRules
    least_accuracy: float
    samples: Sequence[Sample]

    @property
    def limit(self) -> timedelta:
        """Maximum duration."""
        return timedelta(seconds=self.rules.batch_seconds * calibration()) + MARGIN

    def play(self, player: Player, *, on_log: LogLine, on_piece: Callable[[], None]) -> tuple[SmokeCheck, ...]:
        """Check `player`; `on_log` gets its output.

        Raise `BuildRefusal` if its image cannot be started, and `Fault`.
        """
        on_piece()
        ready = ready_player(player, on_log)
        stage = Stage(open_sandbox(), resources(device_of(slot())), calibration(), threading.Event())
        seed = secrets.randbelow(1 << 31)  # a submission that could predict it would know the images in advance
        try:
            return check_submission(
                ready,
                rules=self.rules,
                samples=self.samples,
                least_accuracy=self.least_accuracy,
                stage=stage,
                seed=seed,
                on_log=on_log,
            )
        except BuildRefusal:
            raise
        except Refusal as refusal:  # this host lacks a guard
            raise Fault(f"the smoke test cannot be played: {refusal}") from refusal


def transfer_smoke_test(competition: Competition) -> TransferSmokeTest:
    """Return the current smoke test of `competition`; raise `Fault` if the organisers' data are inconsistent."""
    version = rules_in_force(competition)
    try:
        return TransferSmokeTest(
            rules=transfer_rules(version.values, version.version),
            least_accuracy=least_accuracy(version.values),
            samples=samples_of(development_set(competition)),
        )
    except Refusal as refusal:
        raise Fault(f"{competition} has no smoke test: {refusal}") from refusal
