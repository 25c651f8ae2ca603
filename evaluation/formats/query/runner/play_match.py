"""Run of one match: start both players, run the referee, end the players, audit the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.derived_seeds import derive_seed
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import MatchResult, PieceResult, sum_reports, with_inconsistency
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_after_match import audit_model, with_audits
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources, Sandbox


@dataclass(frozen=True, eq=False)
class Played:
    """A result, and the output of the players (one text per start)."""

    result: MatchResult
    model_logs: tuple[str, ...]
    attack_logs: tuple[str, ...]


def play(
    *,
    model: QueryPlayer,
    attack: QueryPlayer,
    samples: Sequence[Sample],
    rules: QueryRules,
    sandbox: Sandbox,
    seed: int,
    resources: Resources | None = None,
    calibration: float = 1.0,
    fresh_audit: bool = True,
    level_caches: bool = True,
    reuse_attack: bool = False,
    sizes: Sequence[int] = (),
    on_piece: Callable[[PieceResult], None] | None = None,
) -> Played:
    """Play `attack` against `model` on `samples`, in the attack's track.

    `fresh_audit` and `reuse_attack` are those of `RefereedMatch`, `sizes` those of its `play`, `level_caches` that of
    `audit_model`; a bundled model needs neither audit nor levelling, and trusted code no levelling. A failure of a
    player is part of the result; a failure of the host raises `Fault`, after both players were ended. `on_piece` gets
    each piece before its audit, which follows when both players have ended.
    """
    track = attack.track
    if model.track is not TrackName.MODEL or track is TrackName.MODEL:
        raise ValueError(f"a match needs a model and an attack, not {model.track} and {track}")
    model_player = SandboxedPlayer(sandbox, model, resources or Resources())
    attack_player = SandboxedPlayer(sandbox, attack, resources or Resources())
    match = RefereedMatch(
        rules=rules,
        track=track,
        model=model_player,
        attack=attack_player,
        seed=seed,
        calibration=calibration,
        fresh_audit=fresh_audit,
        reuse_attack=reuse_attack,
    )
    pieces: list[PieceResult] = []
    try:
        for piece in match.play(samples, sizes):
            pieces.append(piece)
            if on_piece is not None:
                on_piece(piece)
        failures = match.failures
    finally:
        match.close()
    reports = audit_model(
        model=model,
        track=track,
        rules=rules,
        kept=[piece.kept for piece in pieces if piece.kept],
        sandbox=sandbox,
        seed=derive_seed(seed, "deferred audit", samples[0].number if samples else 0),
        resources=resources,
        calibration=calibration,
        level_caches=level_caches,
        logs=model_player.logs,
    )
    audited = with_audits(pieces, reports)
    audit = sum_reports(piece.audit for piece in audited)
    result = MatchResult(
        rules=rules,
        track=track,
        model=model.name,
        attack=attack.name,
        pieces=audited,
        audit=audit,
        failures=with_inconsistency(failures, audit),
    )
    return Played(result, tuple(model_player.logs), tuple(attack_player.logs))
