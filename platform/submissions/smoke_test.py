"""Adapter: the smoke stage, a short match on public samples before a submission meets anybody."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from competitions.models import Competition, Track
from competitions.rules import least_accuracy, query_rules
from competitions.sample_store import samples_of
from competitions.selectors import rules_in_force
from competitions.smoke_opponents import development_set, opponent_name
from core.errors import Fault, Refusal
from core.worker_slot import device_of, slot
from evaluation.domain.errors import BuildRefusal
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.referee.clock import calibrate
from evaluation.runner import checks as engine
from evaluation.runner.checks import SmokeCheck
from evaluation.runner.smoke_opponent import Opponent, nearest_mean_opponent, player_opponent
from evaluation.runner.smoke_test import SAMPLES, check_attack, check_model
from submissions.models import Player
from submissions.player_builds import LogLine, kept_opponent, ready_player, trusted_baseline
from submissions.sandboxes import open_sandbox, resources, trusted_sandbox

TRY_AT_HOME = "try the mended version on your own machine first: `gauntlet check .`"
MARGIN = timedelta(minutes=10)
"""What the stage may take beyond what its players may: starting them, building the opponent, the referee's own work."""


@dataclass(frozen=True, eq=False)
class SmokeTest:
    """What is played, on what, under which rules."""

    competition: Competition
    rules: QueryRules
    least_accuracy: float
    samples: Sequence[Sample]

    @property
    def limit(self) -> timedelta:
        """How long it may take: each player's own limits, and a margin."""
        rules = self.rules
        samples = min(SAMPLES, len(self.samples))
        # each player is started for every piece, the model twice besides, and each once more where it fails
        starts = 2 * math.ceil(samples / rules.piece_samples) + 4
        seconds = starts * rules.setup_seconds + samples * (
            rules.attack_seconds_per_sample + 2 * rules.query_budget * rules.model_seconds_per_image
        )
        return timedelta(seconds=seconds * _calibration()) + MARGIN

    def play(self, player: Player, *, on_log: LogLine, on_piece: Callable[[], None]) -> tuple[SmokeCheck, ...]:
        """Check `player`; `on_log` gets what it prints, from other threads, `on_piece` is called in between.

        Raises `BuildRefusal` where its image cannot be started as it is, and `Fault`: also where it needs a GPU and
        this host has none, which is not its team's cause.
        """
        device = device_of(slot())
        if player.gpu and device is None:
            raise Fault(
                "the player needs a GPU and this builder has none: only GPU hosts may listen to the queue build"
            )
        seed = secrets.randbelow(1 << 31)  # a player that could foresee it would know the images by heart
        common: dict[str, Any] = {
            "rules": self.rules,
            "sandbox": open_sandbox(),
            "seed": seed,
            "calibration": _calibration(),
            "resources": resources(device),
            "on_log": on_log,
            "on_piece": lambda piece: on_piece(),
        }
        ready = ready_player(player, on_log)
        on_log(f"seed {seed}: `gauntlet check --seed {seed} .` plays the same match")
        try:
            if player.track_name == Track.Name.MODEL:
                found = check_model(ready, samples=self.samples, least_accuracy=self.least_accuracy, **common)
            else:
                found = check_attack(ready, opponent=self._opponent(), **common)
            return found.checks
        except BuildRefusal:
            raise
        except Refusal as refusal:  # this host lacks a guard, or the opponent failed
            raise Fault(f"the smoke stage cannot be played: {refusal}") from refusal

    def _opponent(self) -> Opponent:
        """The model that the organisers named, or the one that knows the images of the competition."""
        name = opponent_name(self.competition)
        if not name:
            return nearest_mean_opponent(self.samples)
        if digest := self.competition.smoke_opponent_digest:
            return player_opponent(kept_opponent(digest), open_sandbox(), self.samples)
        return player_opponent(trusted_baseline(name), trusted_sandbox(), self.samples)


def smoke_test(competition: Competition) -> SmokeTest:
    """The smoke stage of `competition` today; raises `Fault` where its organisers' data do not fit together."""
    version = rules_in_force(competition)
    try:
        return SmokeTest(
            competition=competition,
            rules=query_rules(version.values, version.version),
            least_accuracy=least_accuracy(version.values),
            samples=samples_of(development_set(competition)),
        )
    except Refusal as refusal:
        raise Fault(f"{competition} has no smoke stage: {refusal}") from refusal


def as_rows(checks: Sequence[SmokeCheck]) -> list[dict[str, Any]]:
    """The checks as `Build.checks` keeps them."""
    return [asdict(check) for check in checks]


def what_failed(checks: Sequence[SmokeCheck]) -> tuple[str, str]:
    """The problem in one sentence and the fixes, one a line, of checks that did not all pass."""
    problem, fixes = engine.what_failed(checks)
    return problem, "\n".join([*fixes, TRY_AT_HOME])


@cache
def _calibration() -> float:
    return calibrate()
