"""The smoke test: a short test on public samples before a submission is evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Generic, Self

from competitions.models import Competition, RulesVersion
from competitions.rules import least_accuracy
from competitions.rules_reader import OfFormat
from competitions.sample_set_selectors import development_set
from competitions.sample_store import samples_of
from competitions.selectors import rules_in_force
from core.errors import Fault, Refusal
from evaluation.domain import smoke_test_result
from evaluation.domain.errors import BuildRefusal
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_test_result import SmokeCheck, SmokeTestResult
from submissions.models import Player
from submissions.player_builds import LogLine
from workers.calibration import calibration, measure_again, require_steady

CHECK_LOCALLY = "test the fixed version on your own machine first: `{command}`"
MARGIN = timedelta(minutes=10)
"""Time beyond the players' own limits: starting them, their opponent, the site's own work, a check of the host."""


@dataclass(frozen=True, eq=False)
class SmokeTest(ABC, Generic[OfFormat]):
    """Rules and samples of a smoke test; a format says how it is played."""

    competition: Competition
    rules: OfFormat
    least_accuracy: float
    samples: Sequence[Sample]

    @classmethod
    def of(cls, competition: Competition) -> Self:
        """Return the current smoke test of `competition`; raise `Fault` if the organisers' data are inconsistent."""
        version = rules_in_force(competition)
        try:
            return cls(
                competition=competition,
                rules=cls.rules_of(version),
                least_accuracy=least_accuracy(version.values),
                samples=samples_of(development_set(competition)),
            )
        except Refusal as refusal:
            raise Fault(f"{competition} has no smoke test: {refusal}") from refusal

    @property
    def limit(self) -> timedelta:
        """Maximum duration: the limits of all players on this host, and a margin."""
        return timedelta(seconds=self.player_seconds() * calibration()) + MARGIN

    def play(self, player: Player, *, on_log: LogLine, on_piece: Callable[[], None]) -> SmokeTestResult:
        """Check `player`; `on_log` gets its output, from other threads; `on_piece` is called between pieces.

        Raise `BuildRefusal` if its image cannot be started, and `Fault`; also where a check failed on a host that
        became slower meanwhile.
        """
        measure_again()
        charged = calibration(gpu=player.gpu)
        try:
            result = self.check(player, on_log, on_piece)
        except BuildRefusal:
            raise
        except Refusal as refusal:  # this host lacks a guard, or an opponent failed
            raise Fault(f"the smoke test cannot be played: {refusal}") from refusal
        if any(check.passed is False for check in result.checks):
            require_steady(charged, gpu=player.gpu)
        return result

    @staticmethod
    @abstractmethod
    def rules_of(version: RulesVersion) -> OfFormat:
        """Return the rules of a version as the engine takes them; raise `Refusal` for those of another format."""

    @abstractmethod
    def player_seconds(self) -> float:
        """Return the sum of the players' own limits on the reference machine."""

    @abstractmethod
    def check(self, player: Player, on_log: LogLine, on_piece: Callable[[], None]) -> SmokeTestResult:
        """Check `player` as `play` says; a `Refusal` other than `BuildRefusal` is the site's fault."""


def as_rows(checks: Sequence[SmokeCheck]) -> list[dict[str, Any]]:
    """Return the checks as `Build.checks` stores them."""
    return [asdict(check) for check in checks]


def what_failed(checks: Sequence[SmokeCheck], command: str) -> tuple[str, str]:
    """Return the problem in one sentence, and the fixes, one per line, of checks that did not all pass.

    `command` plays them on the participant's own machine.
    """
    problem, fixes = smoke_test_result.what_failed(checks)
    return problem, "\n".join([*fixes, CHECK_LOCALLY.format(command=command)])
