"""Adapter: the smoke test, a short match on public samples before a submission is evaluated."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from competitions.models import Competition, Track
from competitions.rules import least_accuracy, query_rules
from competitions.sample_store import samples_of
from competitions.selectors import rules_in_force
from competitions.smoke_opponents import development_set, opponent_name
from core.errors import Fault, Refusal
from evaluation.domain import smoke_checks
from evaluation.domain.errors import BuildRefusal
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_checks import SmokeCheck
from evaluation.runner.smoke_opponent import Opponent, nearest_mean_opponent, player_opponent
from evaluation.runner.smoke_test import SAMPLES, check_attack, check_model
from submissions.models import Player
from submissions.player_builds import LogLine, kept_opponent, ready_player, trusted_baseline
from workers.calibration import calibration
from workers.sandboxes import open_sandbox, resources, trusted_sandbox
from workers.worker_slot import device_of, slot

CHECK_LOCALLY = "test the fixed version on your own machine first: `gauntlet check .`"
MARGIN = timedelta(minutes=10)
"""Time beyond the players' own limits: starting them, building the opponent, the referee's own work."""


@dataclass(frozen=True, eq=False)
class SmokeTest:
    """Players, samples and rules of a smoke test."""

    competition: Competition
    rules: QueryRules
    least_accuracy: float
    samples: Sequence[Sample]

    @property
    def limit(self) -> timedelta:
        """Maximum duration: the limits of each player, and a margin."""
        rules = self.rules
        samples = min(SAMPLES, len(self.samples))
        # each player is started for every piece, the model two more times, and each once more where it fails
        starts = 2 * math.ceil(samples / rules.piece_samples) + 4
        seconds = starts * rules.setup_seconds + samples * (
            rules.attack_seconds_per_sample + 2 * rules.query_budget * rules.model_seconds_per_image
        )
        return timedelta(seconds=seconds * calibration()) + MARGIN

    def play(self, player: Player, *, on_log: LogLine, on_piece: Callable[[], None]) -> tuple[SmokeCheck, ...]:
        """Check `player`; `on_log` gets its output, from other threads; `on_piece` is called between pieces.

        Raise `BuildRefusal` if its image cannot be started, and `Fault`; also if it needs a GPU and this host has
        none, which is no user error.
        """
        device = device_of(slot())
        if player.gpu and device is None:
            raise Fault("the player needs a GPU and this builder has none: only GPU hosts may consume the queue build")
        seed = secrets.randbelow(1 << 31)  # a player that could predict it would know the images in advance
        common: dict[str, Any] = {
            "rules": self.rules,
            "sandbox": open_sandbox(),
            "seed": seed,
            "calibration": calibration(),
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
            raise Fault(f"the smoke test cannot be played: {refusal}") from refusal

    def _opponent(self) -> Opponent:
        """Return the organisers' model, or one made from the competition's images."""
        name = opponent_name(self.competition)
        if not name:
            return nearest_mean_opponent(self.samples)
        if digest := self.competition.smoke_opponent_digest:
            return player_opponent(kept_opponent(digest), open_sandbox(), self.samples)
        return player_opponent(trusted_baseline(name), trusted_sandbox(), self.samples)


def smoke_test(competition: Competition) -> SmokeTest:
    """Return the current smoke test of `competition`; raise `Fault` if the organisers' data are inconsistent."""
    version = rules_in_force(competition)
    try:
        return SmokeTest(
            competition=competition,
            rules=query_rules(version.values, version.version),
            least_accuracy=least_accuracy(version.values),
            samples=samples_of(development_set(competition)),
        )
    except Refusal as refusal:
        raise Fault(f"{competition} has no smoke test: {refusal}") from refusal


def as_rows(checks: Sequence[SmokeCheck]) -> list[dict[str, Any]]:
    """Return the checks as `Build.checks` stores them."""
    return [asdict(check) for check in checks]


def what_failed(checks: Sequence[SmokeCheck]) -> tuple[str, str]:
    """Return the problem in one sentence, and the fixes, one per line, of checks that did not all pass."""
    problem, fixes = smoke_checks.what_failed(checks)
    return problem, "\n".join([*fixes, CHECK_LOCALLY])
