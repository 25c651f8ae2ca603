"""Adapter: the smoke test of the transfer format, one small batch of public images."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

from competitions.models import RulesVersion
from evaluation.domain.smoke_test_result import SmokeTestResult
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.batch_in_sandbox import RunEnvironment
from evaluation.formats.transfer.runner.resource_limits import resources
from evaluation.formats.transfer.runner.smoke_test import check_submission
from formats.transfer.tournaments.player_builds import ready_player
from submissions.local_check_command import local_check
from submissions.models import Player
from submissions.player_builds import LogLine
from submissions.smoke_test import SmokeTest
from workers.calibration import calibration
from workers.sandboxes import open_sandbox
from workers.slot_device import device_of, slot


class TransferSmokeTest(SmokeTest[TransferRules]):
    """One batch of the first development samples."""

    @staticmethod
    def rules_of(version: RulesVersion) -> TransferRules:
        return version.rules_as(TransferRules)

    def player_seconds(self) -> float:
        return self.rules.batch_seconds

    def check(self, player: Player, on_log: LogLine, on_piece: Callable[[], None]) -> SmokeTestResult:
        on_piece()
        ready = ready_player(player, on_log)
        seed = secrets.randbelow(1 << 31)  # a submission that could predict it would know the images in advance
        on_log(f"seed {seed}: `{local_check(self.competition, seed=seed)}` runs the same batch")
        return check_submission(
            ready,
            rules=self.rules,
            samples=self.samples,
            least_accuracy=self.least_accuracy,
            stage=RunEnvironment(
                open_sandbox(), resources(device_of(slot())), calibration(gpu=player.gpu), threading.Event()
            ),
            seed=seed,
            on_log=on_log,
        )
