"""Adapter: the smoke test of the curves format.

It loads PyTorch, which takes seconds and some 200 MB: only a builder that starts a model imports it.
"""

from __future__ import annotations

from collections.abc import Callable

from competitions.models import RulesVersion
from core.errors import Fault
from evaluation.domain.smoke_test_result import SmokeTestResult
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.runner.smoke_test import SAMPLES, check_model
from evaluation.formats.curves.threat_models import Knowledge
from evaluation.protocol.model_time import MODEL_GRACE_SECONDS
from formats.curves.listed_attacks import needed_answers
from formats.curves.player_builds import ready_player
from submissions.local_check_command import local_check
from submissions.models import Player
from submissions.player_builds import LogLine
from submissions.smoke_test import SmokeTest
from workers.calibration import calibration
from workers.sandboxes import open_sandbox, resources
from workers.slot_device import device_of, slot


class CurvesSmokeTest(SmokeTest[CurvesRules]):
    """The model labels the first development samples, twice, and answers what else the attacks of the rules need."""

    @staticmethod
    def rules_of(version: RulesVersion) -> CurvesRules:
        return version.rules_as(CurvesRules)

    def player_seconds(self) -> float:
        rounds = 4 + 4 * len(self._needed())  # a round of scores or gradients takes longer
        answers = rounds * SAMPLES * self.rules.model_seconds_per_image
        return self.rules.setup_seconds + MODEL_GRACE_SECONDS + answers

    def _needed(self) -> frozenset[Knowledge]:
        return needed_answers(self.rules) - {Knowledge.DECISION}

    def check(self, player: Player, on_log: LogLine, on_piece: Callable[[], None]) -> SmokeTestResult:
        """Raise `Fault` also if the player needs a GPU and this host has none, which is no user error."""
        device = device_of(slot())
        if player.gpu and device is None:
            raise Fault("the player needs a GPU and this builder has none: only GPU hosts may consume the queue build")
        ready = ready_player(player, on_log)
        on_log(f"`{local_check(self.competition)}` runs the same checks")
        return check_model(
            ready,
            samples=self.samples,
            rules=self.rules,
            needed=self._needed(),
            least_accuracy=self.least_accuracy,
            sandbox=open_sandbox(),
            calibration=calibration(gpu=player.gpu),
            resources=resources(device),
            on_log=lambda output: _log(output, on_log),
        )


def _log(output: bytes, on_log: LogLine) -> None:
    for line in output.decode(errors="replace").splitlines():
        on_log(line)
