"""Smoke test: a short public match on development samples that checks a player before it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.builder.player_exception import LastException, last_exception
from evaluation.domain.errors import Refusal
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.limit_use import LimitUse, Unit
from evaluation.domain.players import QueryPlayer, Side, TrackName
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_test_pictures import PICTURED
from evaluation.domain.smoke_test_result import SmokeCheck, SmokeTestResult, not_reached
from evaluation.formats.query.referee.derived_seeds import derive_seed
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.query_paths import QueryPaths
from evaluation.formats.query.results import Failure, Outcome, PieceResult, RefereedSample, sum_reports
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_after_match import audit_model, with_audits
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.formats.query.runner.repeated_output import without_repetition
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.formats.query.runner.smoke_opponent import SmokeOpponent
from evaluation.formats.query.runner.smoke_test_checks import (
    check_accuracy,
    check_rules,
    describe_failure,
    suggest_fix,
)
from evaluation.formats.query.runner.smoke_test_disguise import disguise
from evaluation.formats.query.runner.smoke_test_pictures import pictured
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.host_path_redaction import HostPaths
from evaluation.sandbox.peak_use import MostUsed
from gauntlet import serve_attack

SAMPLES = 20
"""Number of samples of a smoke test, if there are enough."""

PROBE_QUERIES = 50
"""Queries of the probe per sample in the check of a model."""

_FIXES = {
    "time": "make the model smaller or faster",
    "stateless": "return the same label for the same image: no randomness, no memory, no use of other images",
    "success": "find an adversarial for at least one sample; only images sent as queries count",
    "budget": "send fewer queries: the budget is per sample",
}


def smoke_samples(samples: Sequence[Sample], seed: int, most: int = SAMPLES) -> list[Sample]:
    """Return the first `most` of the public `samples`, disguised.

    A player that recognises the samples could behave well only in the smoke test.
    """
    return disguise(samples[:most], seed)


def check_model(
    player: QueryPlayer,
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
    """Play a noise probe against a model: check set-up, shape, accuracy, time, determinism, statelessness.

    It uses those of `samples` that `smoke_samples` selects, at most `most`. `on_log` gets each line of the model's
    output, from other threads; it must not raise.
    """
    resources, used = resources or Resources(), MostUsed()
    connection = SandboxedPlayer(sandbox, player, resources, on_log, used=used)
    rules = replace(rules, query_budget=PROBE_QUERIES)
    probe = InProcessPlayer(lambda connected: serve_attack(_probe, connected=connected))
    chosen, paths = smoke_samples(samples, seed, most), QueryPaths(PICTURED, rules.shape)
    match = RefereedMatch(
        rules=rules,
        track=TrackName.UNTARGETED,
        model=connection,
        attack=probe,
        seed=seed,
        calibration=calibration,
        paths=paths,
        stop_at_limit=True,
    )
    try:
        pieces = _pieces(match, chosen, on_piece)
        failures, seconds, offers = match.failures, match.model_seconds_per_image, match.model_offers
    finally:
        match.close()
    failed, seconds = _of(failures, Side.MODEL), seconds / calibration
    # the time of a question that a player did not survive says nothing, except where it was too slow
    shown = seconds if all(failure.reason is Reason.TOO_SLOW for failure in failed) else None
    limits = (
        used.set_up(rules.setup_seconds, calibration),
        LimitUse("time for an image", shown, rules.model_seconds_per_image),
        *used.of(resources),
    )
    if failed:  # the audit would only repeat it
        log = without_repetition(connection.logs)
        not_played = not_reached("accuracy", "time", "stateless")
        checks = [check_rules(failed, log, player.directory), *not_played]
        return SmokeTestResult(tuple(checks), log, pictures=pictured(chosen, pieces, paths), limits=limits)
    reports = audit_model(
        model=player,
        track=TrackName.UNTARGETED,
        rules=rules,
        kept=[piece.kept for piece in pieces if piece.kept],
        sandbox=sandbox,
        seed=derive_seed(seed, "deferred audit", 0),
        resources=resources,
        calibration=calibration,
        # this test helps a team; what decides is the audit of matches. Those of the team may be played here for hours
        alone=False,
        level_caches=False,
        on_log=on_log,
        logs=connection.logs,
    )
    pieces = with_audits(pieces, reports)
    audit, rows = sum_reports(piece.audit for piece in pieces), [row for piece in pieces for row in piece.samples]
    log = without_repetition(connection.logs)
    checks = [check_rules((), log, player.directory)]
    limit = rules.model_seconds_per_image
    allowed = f"{seconds * 1000:.2f} ms an image, at most {limit * 1000:g} ms"
    checks += [
        check_accuracy(rows, least_accuracy, log, player.directory),
        SmokeCheck("time", seconds <= limit, allowed, fix=_FIXES["time"]),
        # a model that labels no image right is not attacked, so no query is replayed
        SmokeCheck("stateless", audit.passed, str(audit), fix=_FIXES["stateless"])
        if audit.replayed or audit.fresh
        else not_reached("stateless")[0],
    ]
    return SmokeTestResult(tuple(checks), log, offers, pictured(chosen, pieces, paths), limits)


def check_attack(
    player: QueryPlayer,
    *,
    opponent: SmokeOpponent,
    rules: QueryRules,
    sandbox: Sandbox,
    seed: int,
    calibration: float,
    most: int = SAMPLES,
    resources: Resources | None = None,
    on_piece: Callable[[PieceResult], None] | None = None,
    on_log: Callable[[str], None] | None = None,
) -> SmokeTestResult:
    """Play an attack against `opponent`: check set-up, rules, success, number of queries.

    It uses those of the opponent's samples that `smoke_samples` selects, at most `most`. `on_log` gets each line of the
    attack's output, from other threads; it must not raise. Raise `Refusal` if the opponent itself fails or labels no
    image right.
    """
    resources, used = resources or Resources(), MostUsed()
    connection = SandboxedPlayer(sandbox, player, resources, on_log, used=used)
    chosen, paths = smoke_samples(opponent.samples, seed, most), QueryPaths(PICTURED, rules.shape)
    match = RefereedMatch(
        rules=rules,
        track=player.track,
        model=opponent.connection,
        attack=connection,
        seed=seed,
        calibration=calibration,
        fresh_audit=False,  # the opponent is not checked
        paths=paths,
        stop_at_limit=True,
    )
    try:
        pieces = _pieces(match, chosen, on_piece)
        failures, seconds = match.failures, match.attack_seconds_per_sample / calibration
    finally:
        match.close()
    rows = [row for piece in pieces for row in piece.samples]
    _require_opponent(failures, rows, opponent.name)
    log = without_repetition(connection.logs)
    checks = [check_rules(_of(failures, Side.ATTACK), log, player.directory)]
    if checks[0].passed:
        checks += _success(rows, rules, last_exception(log, player.directory), HostPaths(player.directory))
    else:
        checks += not_reached("success", "budget")
    attacked = [row.queries for row in rows if row.outcome is not Outcome.CLEAN_WRONG]
    limits = (
        used.set_up(rules.setup_seconds, calibration),
        LimitUse("time for a sample, without the model's", seconds or None, rules.attack_seconds_per_sample),
        LimitUse("queries for a sample", max(attacked, default=None), rules.query_budget, Unit.COUNT),
        *used.of(resources),
    )
    return SmokeTestResult(
        tuple(checks), log, pictures=pictured(chosen, pieces, paths, attacked_only=True), limits=limits
    )


def _pieces(
    match: RefereedMatch, samples: Sequence[Sample], on_piece: Callable[[PieceResult], None] | None
) -> tuple[PieceResult, ...]:
    pieces: list[PieceResult] = []
    for piece in match.play(samples):
        pieces.append(piece)
        if on_piece is not None:
            on_piece(piece)
    return tuple(pieces)


def _of(failures: Sequence[Failure], side: Side) -> list[Failure]:
    return [failure for failure in failures if failure.side is side]


def _require_opponent(failures: Sequence[Failure], rows: Sequence[RefereedSample], name: str) -> None:
    """Raise `Refusal` if the opponent, not the attack, is the cause of a missing result."""
    fix = "name a model for these images: --model DIR, or smoke_opponent in the competition's file"
    problems = dict.fromkeys(describe_failure(failure) for failure in _of(failures, Side.MODEL))
    if problems:
        raise Refusal(f"the model {name} failed: {'; '.join(problems)}", fix=fix)
    if all(row.outcome is Outcome.CLEAN_WRONG for row in rows):
        raise Refusal(f"the model {name} labels none of these images right, so it cannot test an attack", fix=fix)


def _success(
    rows: Sequence[RefereedSample], rules: QueryRules, raised: LastException | None, paths: HostPaths
) -> list[SmokeCheck]:
    attacked = [row for row in rows if row.outcome is not Outcome.CLEAN_WRONG]
    found = [row for row in attacked if row.outcome is Outcome.ADVERSARIAL]
    queries = [row.queries for row in attacked]
    median = f", median distance {np.median([row.distance for row in found]):.3f}" if found else ""
    reasons = [row.reason for row in attacked if row.outcome is Outcome.FAILED and row.reason is not None]
    seen = f"adversarials for {len(found)} of {len(attacked)} samples{median}"
    if found and (raising := reasons.count(Reason.ATTACK_RAISED)):
        seen += f"; it raised an exception on {raising}"
    elif reasons and not found:
        seen += f": {'; '.join(reason.text for reason in sorted(set(reasons)))}"
    budget = f"at most {max(queries, default=0)} queries for one sample, the budget is {rules.query_budget}"
    explained = raised if Reason.ATTACK_RAISED in reasons else None
    return [
        SmokeCheck(
            "success",
            bool(found),
            seen,
            "" if explained is None else paths.shorten(str(explained)),
            _FIXES["success"] if explained is None else suggest_fix(explained),
        ),
        SmokeCheck("budget", max(queries, default=0) <= rules.query_budget, budget, fix=_FIXES["budget"]),
    ]


def _probe(model: Any, image: Any, label: int | None, *, target: int | None, rng: np.random.Generator) -> None:
    """Send noise of growing strength, in single and joint queries: a simple way across the decision boundary."""
    scales = np.linspace(0, 128, PROBE_QUERIES - 10)
    for scale in scales:
        model(image + rng.normal(0, scale, image.shape))
    model.many([image + rng.normal(0, scale, image.shape) for scale in scales[::4]])
