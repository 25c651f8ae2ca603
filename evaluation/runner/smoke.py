"""The smoke stage: a short public match on development samples that shows a team what the arena will ask of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.domain.errors import Refusal
from evaluation.domain.players import Player, Side, Track
from evaluation.domain.results import Failure, Outcome, PieceResult, SampleResult
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.referee.match import Match
from evaluation.runner.function_seat import FunctionSeat
from evaluation.runner.opponent import Opponent
from evaluation.runner.seat import SandboxSeat
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sdk import serve_attack

SAMPLES = 20
"""Samples of a smoke stage, where there are as many."""

PROBE_QUERIES = 50
"""Queries that the probe sends for each sample when a model is checked."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: whether it is as it must be, and what was seen."""

    name: str
    passed: bool
    seen: str


@dataclass(frozen=True, eq=False)
class Smoke:
    """What the smoke stage found, and everything that the player printed."""

    checks: tuple[Check, ...]
    log: str

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)


def shown(samples: Sequence[Sample], most: int = SAMPLES) -> tuple[Sample, ...]:
    """Which of the public `samples` a player meets, in the order in which it meets them."""
    return tuple(samples[:most])


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
) -> Smoke:
    """Play a probe of noise against a model: set-up, shape, accuracy, time, determinism, statelessness.

    It meets those of `samples` that `shown` selects, at most `most`. `on_log` gets each line that the model prints, as
    it appears and from other threads; it must not raise.
    """
    seat = SandboxSeat(sandbox, player, resources or Resources(), on_log)
    rules = replace(rules, query_budget=PROBE_QUERIES)
    probe = FunctionSeat(lambda connected: serve_attack(_probe, connected=connected))
    match = Match(rules=rules, track=Track.UNTARGETED, model=seat, attack=probe, seed=seed, calibration=calibration)
    try:
        rows = _rows(match, shown(samples, most), on_piece)
        match.ask_fresh_model()
        audit, failures, seconds = match.audit, match.failures, match.model_seconds_per_image
    finally:
        match.close()
    right = sum(row.outcome is not Outcome.CLEAN_WRONG for row in rows)
    limit = rules.model_seconds_per_image * calibration
    checks = [_kept_the_rules(failures, Side.MODEL)]
    if not any(failure.in_setup for failure in failures):
        seen = f"{right} of {len(rows)} clean images right, at least {least_accuracy:.0%} are needed"
        checks += [
            Check("accuracy", right >= least_accuracy * len(rows), seen),
            Check("time", seconds <= limit, f"{seconds * 1000:.2f} ms an image, at most {limit * 1000:.0f} ms"),
            Check("stateless", audit.passed, str(audit)),
        ]
    return Smoke(tuple(checks), "".join(seat.logs))


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
) -> Smoke:
    """Play an attack against `opponent`: set-up, rules, success, queries used.

    It meets those of the opponent's samples that `shown` selects, at most `most`. `on_log` gets each line that the
    attack prints, as it appears and from other threads; it must not raise. Raises `Refusal` where the opponent itself
    fails or gets no image right.
    """
    seat = SandboxSeat(sandbox, player, resources or Resources(), on_log)
    match = Match(rules=rules, track=player.track, model=opponent.seat, attack=seat, seed=seed, calibration=calibration)
    try:
        rows = _rows(match, shown(opponent.samples, most), on_piece)
        failures = match.failures
    finally:
        match.close()
    _require_opponent(failures, rows, opponent.name)
    checks = [_kept_the_rules(failures, Side.ATTACK)]
    if checks[0].passed:
        checks += _success(rows, rules)
    return Smoke(tuple(checks), "".join(seat.logs))


def _rows(
    match: Match, samples: Sequence[Sample], on_piece: Callable[[PieceResult], None] | None
) -> list[SampleResult]:
    rows: list[SampleResult] = []
    for piece in match.play(samples):
        rows += piece.samples
        if on_piece is not None:
            on_piece(piece)
    return rows


def _kept_the_rules(failures: Sequence[Failure], side: Side) -> Check:
    mine = [failure for failure in failures if failure.side is side]
    return Check("rules", not mine, "; ".join(map(str, mine)) or "connected, spoke the protocol, ended in order")


def _require_opponent(failures: Sequence[Failure], rows: Sequence[SampleResult], name: str) -> None:
    """Raises `Refusal` where the opponent and not the attack is why nothing can be seen."""
    fix = "name a model that knows these images: --model DIR, or smoke_opponent in the competition's file"
    theirs = [str(failure) for failure in failures if failure.side is Side.MODEL]
    if theirs:
        raise Refusal(f"the model {name} failed: {'; '.join(theirs)}", fix=fix)
    if all(row.outcome is Outcome.CLEAN_WRONG for row in rows):
        raise Refusal(f"the model {name} gets none of these images right, so none can be attacked", fix=fix)


def _success(rows: Sequence[SampleResult], rules: QueryRules) -> list[Check]:
    attacked = [row for row in rows if row.outcome is not Outcome.CLEAN_WRONG]
    found = [row for row in attacked if row.outcome is Outcome.ADVERSARIAL]
    queries = [row.queries for row in attacked]
    median = f", median distance {np.median([row.distance for row in found]):.3f}" if found else ""
    reasons = sorted({str(row.reason) for row in attacked if row.outcome is Outcome.FAILED})
    why = f" ({', '.join(reasons)})" if reasons else ""
    budget = f"{max(queries, default=0)} queries on one sample at the most, the budget is {rules.query_budget}"
    return [
        Check("success", bool(found), f"{len(found)} of {len(attacked)} samples broken{median}{why}"),
        Check("budget", max(queries, default=0) <= rules.query_budget, budget),
    ]


def _probe(model: Any, image: Any, label: int | None, *, target: int | None, rng: np.random.Generator) -> None:
    """Noise of growing strength, alone and in company: reaches across the decision boundary without being clever."""
    scales = np.linspace(0, 128, PROBE_QUERIES - 10)
    for scale in scales:
        model(image + rng.normal(0, scale, image.shape))
    model.many([image + rng.normal(0, scale, image.shape) for scale in scales[::4]])
