"""Adapter: the smoke test of the query format, a short match on public samples."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from competitions.kept_baseline_directories import unpack_directory
from competitions.models import RulesVersion
from core.errors import Fault
from evaluation.domain.smoke_test_result import SmokeTestResult
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.smoke_opponent import SmokeOpponent, nearest_mean_opponent, player_opponent
from evaluation.formats.query.runner.smoke_test import SAMPLES, check_attack, check_model
from formats.query.matches.player_builds import model_of, ready_player, trusted_model
from formats.query.smoke_test_opponents import opponent_name
from formats.query.tracks import MODEL
from submissions.local_check_command import local_check
from submissions.models import Player
from submissions.player_builds import LogLine
from submissions.smoke_test import SmokeTest
from workers.calibration import calibration
from workers.sandboxes import open_sandbox, resources, trusted_sandbox
from workers.slot_device import device_of, slot


class QuerySmokeTest(SmokeTest[QueryRules]):
    """A match of the player on the first development samples."""

    @staticmethod
    def rules_of(version: RulesVersion) -> QueryRules:
        return version.rules_as(QueryRules)

    def player_seconds(self) -> float:
        rules = self.rules
        samples = min(SAMPLES, len(self.samples))
        # each player is started for every piece, the model two more times, and each once more where it fails
        starts = 2 * math.ceil(samples / rules.piece_samples) + 4
        return starts * rules.setup_seconds + samples * (
            rules.attack_seconds_per_sample + 2 * rules.query_budget * rules.model_seconds_per_image
        )

    def check(self, player: Player, on_log: LogLine, on_piece: Callable[[], None]) -> SmokeTestResult:
        """Raise `Fault` also if the player needs a GPU and this host has none, which is no user error."""
        device = device_of(slot())
        if player.gpu and device is None:
            raise Fault("the player needs a GPU and this builder has none: only GPU hosts may consume the queue build")
        seed = secrets.randbelow(1 << 31)  # a player that could predict it would know the images in advance
        common: dict[str, Any] = {
            "rules": self.rules,
            "sandbox": open_sandbox(),
            "seed": seed,
            "calibration": calibration(gpu=player.gpu),
            "resources": resources(device),
            "on_log": on_log,
            "on_piece": lambda piece: on_piece(),
        }
        ready = ready_player(player, on_log)
        on_log(f"seed {seed}: `{local_check(self.competition, seed=seed)}` plays the same match")
        if player.track_name == MODEL:
            return check_model(ready, samples=self.samples, least_accuracy=self.least_accuracy, **common)
        return check_attack(ready, opponent=self._opponent(), **common)

    def _opponent(self) -> SmokeOpponent:
        """Return the organisers' model, or one made from the competition's images."""
        name = opponent_name(self.competition)
        if not name:
            return nearest_mean_opponent(self.samples)
        if digest := self.competition.smoke_opponent_digest:
            return player_opponent(model_of(_kept(digest)), open_sandbox(), self.samples)
        return player_opponent(trusted_model(name), trusted_sandbox(), self.samples)


def _kept(digest: str) -> Path:
    """Return the directory of the organisers' model on this host."""
    folder: Path = settings.CHECKOUTS / f"opponent-{digest}"
    unpack_directory(digest, folder)
    os.utime(folder)
    return folder
