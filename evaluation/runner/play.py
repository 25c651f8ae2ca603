"""Run of one match: start both players, run the referee, end the players."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluation.domain.players import Player, Track
from evaluation.domain.results import MatchResult, PieceResult
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.referee.match import Match
from evaluation.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources, Sandbox


@dataclass(frozen=True, eq=False)
class Played:
    """A result, and the output of the players (one text per start)."""

    result: MatchResult
    model_logs: tuple[str, ...]
    attack_logs: tuple[str, ...]


def play(
    *,
    model: Player,
    attack: Player,
    samples: Sequence[Sample],
    rules: QueryRules,
    sandbox: Sandbox,
    seed: int,
    resources: Resources | None = None,
    calibration: float = 1.0,
    fresh_audit: bool = True,
    reuse_attack: bool = False,
    sizes: Sequence[int] = (),
    on_piece: Callable[[PieceResult], None] | None = None,
) -> Played:
    """Play `attack` against `model` on `samples`, in the attack's track.

    `fresh_audit` and `reuse_attack` are those of `Match`, `sizes` those of its `play`. A failure of a player is part of
    the result; a failure of the host raises `Fault`, after both players were ended.
    """
    track = attack.track
    if model.track is not Track.MODEL or track is Track.MODEL:
        raise ValueError(f"a match needs a model and an attack, not {model.track} and {track}")
    model_player = SandboxedPlayer(sandbox, model, resources or Resources())
    attack_player = SandboxedPlayer(sandbox, attack, resources or Resources())
    match = Match(
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
        result = MatchResult(
            rules=rules,
            track=track,
            model=model.name,
            attack=attack.name,
            pieces=tuple(pieces),
            audit=match.audit,
            failures=match.failures,
        )
    finally:
        match.close()
    return Played(result, tuple(model_player.logs), tuple(attack_player.logs))
