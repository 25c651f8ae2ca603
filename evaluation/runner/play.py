"""Play one match: seat both players, let the referee work, take everything down again."""

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
    """A result, and what the players printed (one text for each time that they were started)."""

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
    on_piece: Callable[[PieceResult], None] | None = None,
) -> Played:
    """Play `attack` against `model` on `samples`, in the attack's track.

    `fresh_audit` and `reuse_attack` as in `Match`. Players that fail, fail in the result; raises `Fault` where the host
    does, after both players were taken down.
    """
    track = attack.track
    if model.track is not Track.MODEL or track is Track.MODEL:
        raise ValueError(f"a match needs a model and an attack, not {model.track} and {track}")
    model_seat = SandboxedPlayer(sandbox, model, resources or Resources())
    attack_seat = SandboxedPlayer(sandbox, attack, resources or Resources())
    match = Match(
        rules=rules,
        track=track,
        model=model_seat,
        attack=attack_seat,
        seed=seed,
        calibration=calibration,
        fresh_audit=fresh_audit,
        reuse_attack=reuse_attack,
    )
    pieces: list[PieceResult] = []
    try:
        for piece in match.play(samples):
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
    return Played(result, tuple(model_seat.logs), tuple(attack_seat.logs))
