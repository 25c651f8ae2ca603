"""The smoke stage: a short public match on development samples that shows a team what the arena will ask of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.domain.errors import Refusal
from evaluation.domain.players import Player, Side, Track
from evaluation.domain.results import Failure, Outcome, PieceResult, Reason, SampleResult
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.referee.match import Match
from evaluation.runner.checks import SmokeCheck, kept_the_rules, mend, not_reached, sentence
from evaluation.runner.in_process_player import InProcessPlayer
from evaluation.runner.last_exception import LastException, last_exception
from evaluation.runner.sample_disguise import disguised
from evaluation.runner.sandboxed_player import SandboxedPlayer
from evaluation.runner.smoke_opponent import Opponent
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.host_paths import HostPaths
from gauntlet import serve_attack

SAMPLES = 20
"""Samples of a smoke stage, where there are as many."""

PROBE_QUERIES = 50
"""Queries that the probe sends for each sample when a model is checked."""

_FIXES = {
    "accuracy": "check that preprocessing and the order of the classes are the competition's",
    "time": "make the model smaller or faster",
    "stateless": "the same image must always get the same label: no randomness, no memory, no look at other images",
    "success": "break at least one sample; an image that the model was not asked about does not count",
    "budget": "ask less: the budget is for each sample",
}


@dataclass(frozen=True, eq=False)
class SmokeTestResult:
    """What the smoke stage found, and everything that the player printed."""

    checks: tuple[SmokeCheck, ...]
    log: str

    @property
    def passed(self) -> bool:
        """Whether every check did; one that was not reached did not."""
        return all(check.passed for check in self.checks)


def shown(samples: Sequence[Sample], seed: int, most: int = SAMPLES) -> list[Sample]:
    """Which of the public `samples` a player meets, in another order and form than they are published in.

    A player that recognised them could behave in the smoke stage alone.
    """
    return disguised(samples[:most], seed)


def check_model(
    player: Player,
    *,
    samples: Sequence[Sample],
    rules: QueryRules,
    sandbox: Sandbox,
    seed: int,
    calibration: float,
    least_accuracy: float,
    most: int = SAMPLES,
    resources: Resources | None = None,
    on_piece: Callable[[PieceResult], None] | None = None,
    on_log: Callable[[str], None] | None = None,
) -> SmokeTestResult:
    """Play a probe of noise against a model: set-up, shape, accuracy, time, determinism, statelessness.

    It meets those of `samples` that `shown` selects, at most `most`. `on_log` gets each line that the model prints, as
    it appears and from other threads; it must not raise.
    """
    connection = SandboxedPlayer(sandbox, player, resources or Resources(), on_log)
    rules = replace(rules, query_budget=PROBE_QUERIES)
    probe = InProcessPlayer(lambda connected: serve_attack(_probe, connected=connected))
    match = Match(
        rules=rules, track=Track.UNTARGETED, model=connection, attack=probe, seed=seed, calibration=calibration
    )
    try:
        rows = _rows(match, shown(samples, seed, most), on_piece)
        audit, failures, seconds = match.audit, match.failures, match.model_seconds_per_image
    finally:
        match.close()
    right = sum(row.outcome is not Outcome.CLEAN_WRONG for row in rows)
    limit = rules.model_seconds_per_image * calibration
    log = "".join(connection.logs)
    checks = [kept_the_rules(_of(failures, Side.MODEL), log, player.directory)]
    if not checks[0].passed:
        return SmokeTestResult((*checks, *not_reached("accuracy", "time", "stateless")), log)
    seen = f"{right} of {len(rows)} clean images right, at least {least_accuracy:.0%} are needed"
    allowed = f"{seconds * 1000:.2f} ms an image, at most {limit * 1000:.0f} ms"
    checks += [
        SmokeCheck("accuracy", right >= least_accuracy * len(rows), seen, fix=_FIXES["accuracy"]),
        SmokeCheck("time", seconds <= limit, allowed, fix=_FIXES["time"]),
        # a model that gets no image right is attacked on none, and then nothing is asked again
        SmokeCheck("stateless", audit.passed, str(audit), fix=_FIXES["stateless"])
        if audit.replayed or audit.fresh
        else not_reached("stateless")[0],
    ]
    return SmokeTestResult(tuple(checks), log)


def check_attack(
    player: Player,
    *,
    opponent: Opponent,
    rules: QueryRules,
    sandbox: Sandbox,
    seed: int,
    calibration: float,
    most: int = SAMPLES,
    resources: Resources | None = None,
    on_piece: Callable[[PieceResult], None] | None = None,
    on_log: Callable[[str], None] | None = None,
) -> SmokeTestResult:
    """Play an attack against `opponent`: set-up, rules, success, queries used.

    It meets those of the opponent's samples that `shown` selects, at most `most`. `on_log` gets each line that the
    attack prints, as it appears and from other threads; it must not raise. Raises `Refusal` where the opponent itself
    fails or gets no image right.
    """
    connection = SandboxedPlayer(sandbox, player, resources or Resources(), on_log)
    match = Match(
        rules=rules,
        track=player.track,
        model=opponent.connection,
        attack=connection,
        seed=seed,
        calibration=calibration,
        fresh_audit=False,  # the opponent is not on trial
    )
    try:
        rows = _rows(match, shown(opponent.samples, seed, most), on_piece)
        failures = match.failures
    finally:
        match.close()
    _require_opponent(failures, rows, opponent.name)
    log = "".join(connection.logs)
    checks = [kept_the_rules(_of(failures, Side.ATTACK), log, player.directory)]
    if checks[0].passed:
        checks += _success(rows, rules, last_exception(log, player.directory), HostPaths(player.directory))
    else:
        checks += not_reached("success", "budget")
    return SmokeTestResult(tuple(checks), log)


def _rows(
    match: Match, samples: Sequence[Sample], on_piece: Callable[[PieceResult], None] | None
) -> list[SampleResult]:
    rows: list[SampleResult] = []
    for piece in match.play(samples):
        rows += piece.samples
        if on_piece is not None:
            on_piece(piece)
    return rows


def _of(failures: Sequence[Failure], side: Side) -> list[Failure]:
    """The failures of that side, without the outcome of the audit, which has a check of its own."""
    return [failure for failure in failures if failure.side is side and failure.reason is not Reason.INCONSISTENT]


def _require_opponent(failures: Sequence[Failure], rows: Sequence[SampleResult], name: str) -> None:
    """Raises `Refusal` where the opponent and not the attack is why nothing can be seen."""
    fix = "name a model that knows these images: --model DIR, or smoke_opponent in the competition's file"
    theirs = dict.fromkeys(sentence(failure) for failure in _of(failures, Side.MODEL))
    if theirs:
        raise Refusal(f"the model {name} failed: {'; '.join(theirs)}", fix=fix)
    if all(row.outcome is Outcome.CLEAN_WRONG for row in rows):
        raise Refusal(f"the model {name} gets none of these images right, so none can be attacked", fix=fix)


def _success(
    rows: Sequence[SampleResult], rules: QueryRules, raised: LastException | None, paths: HostPaths
) -> list[SmokeCheck]:
    attacked = [row for row in rows if row.outcome is not Outcome.CLEAN_WRONG]
    found = [row for row in attacked if row.outcome is Outcome.ADVERSARIAL]
    queries = [row.queries for row in attacked]
    median = f", median distance {np.median([row.distance for row in found]):.3f}" if found else ""
    reasons = [row.reason for row in attacked if row.outcome is Outcome.FAILED and row.reason is not None]
    why = f": {'; '.join(reason.text for reason in sorted(set(reasons)))}" if reasons else ""
    seen = f"{len(found)} of {len(attacked)} samples broken{median}{why}"
    budget = f"{max(queries, default=0)} queries on one sample at the most, the budget is {rules.query_budget}"
    explained = raised if Reason.ATTACK_RAISED in reasons else None
    return [
        SmokeCheck(
            "success",
            bool(found),
            seen,
            "" if explained is None else paths.hidden(str(explained)),
            _FIXES["success"] if explained is None else mend(explained),
        ),
        SmokeCheck("budget", max(queries, default=0) <= rules.query_budget, budget, fix=_FIXES["budget"]),
    ]


def _probe(model: Any, image: Any, label: int | None, *, target: int | None, rng: np.random.Generator) -> None:
    """Noise of growing strength, alone and in company: reaches across the decision boundary without being clever."""
    scales = np.linspace(0, 128, PROBE_QUERIES - 10)
    for scale in scales:
        model(image + rng.normal(0, scale, image.shape))
    model.many([image + rng.normal(0, scale, image.shape) for scale in scales[::4]])
