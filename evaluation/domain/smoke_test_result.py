"""The result of a smoke test of any format: its checks, and which of them failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.domain.limit_use import LimitUse
from evaluation.domain.smoke_test_pictures import PicturedSmokeSample


@dataclass(frozen=True)
class SmokeCheck:
    """One check: whether it passed (None: not reached), and what was seen.

    For a failure, `headline` is the most useful sentence, if not `seen`, and `fix` says what to do, one item per line.
    """

    name: str
    passed: bool | None
    seen: str
    headline: str = ""
    fix: str = ""


@dataclass(frozen=True, eq=False)
class SmokeTestResult:
    """The checks of a smoke test, the whole output of the player, and pictures of some of its public samples."""

    checks: tuple[SmokeCheck, ...]
    log: str
    offers: int = 0
    """What a model offers besides labels, as its HELLO says; 0: nothing, or it is no model."""
    pictures: tuple[PicturedSmokeSample, ...] = ()
    limits: tuple[LimitUse, ...] = ()
    """What it used of each limit that applies to it."""

    @property
    def passed(self) -> bool:
        """True if every check passed; a check that was not reached did not."""
        return all(check.passed for check in self.checks)


def not_reached(*names: str) -> list[SmokeCheck]:
    """Return checks that were not reached because of an earlier failure."""
    return [SmokeCheck(name, None, "not reached") for name in names]


def what_failed(checks: Sequence[SmokeCheck]) -> tuple[str, list[str]]:
    """Return the headline of the first failed check and the fixes of all failed checks."""
    failed = [check for check in checks if check.passed is False] or [check for check in checks if not check.passed]
    fixes = dict.fromkeys(line for check in failed for line in check.fix.splitlines())
    return failed[0].headline or failed[0].seen, list(fixes)
