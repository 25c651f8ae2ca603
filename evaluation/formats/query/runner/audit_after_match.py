"""Audit of a model after its match: a freshly started instance, alone, is asked again about the kept frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.kept_frames import KeptFrames
from evaluation.formats.query.referee.fresh_model_audit import ask_fresh_model
from evaluation.formats.query.referee.kept_frame_bytes import with_audit
from evaluation.formats.query.results import AuditReport, Failure, PieceResult
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_exclusion_lock import no_instance_of
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources, Sandbox


def audit_model(
    *,
    model: QueryPlayer,
    track: TrackName,
    rules: QueryRules,
    kept: Sequence[KeptFrames],
    sandbox: Sandbox,
    seed: int,
    resources: Resources | None = None,
    calibration: float = 1.0,
    wait: bool = True,
    alone: bool = True,
    level_caches: bool = True,
    on_log: Callable[[str], None] | None = None,
    logs: list[str] | None = None,
    failures: list[Failure] | None = None,
) -> tuple[AuditReport, ...]:
    """Ask a fresh instance of `model` again about the frames of all pieces in `kept`; return the counts of each.

    It holds the player's lock on this host: it waits until no other instance of the model lives here, or raises `Fault`
    with `wait` False; unless `alone` is False. `level_caches`: the page cache of all files that the model shares with
    other programs is then made to say nothing of the past. `seed` must be secret: it gives the order. `on_log` gets
    each line of the output, `logs` one text per start, and `failures` those of its instances. A failure of the host
    raises `Fault`; the audit can be repeated.
    """
    if not any(piece.frames for piece in kept):
        return tuple(AuditReport() for _ in kept)
    connection = SandboxedPlayer(sandbox, model, resources or Resources(), on_log, alone=alone)
    try:
        with no_instance_of(model, wait=wait) if alone else nullcontext():
            if level_caches:
                sandbox.level_caches(model)
            return ask_fresh_model(
                connection,
                track=track,
                rules=rules,
                kept=kept,
                seed=seed,
                calibration=calibration,
                failures=failures,
            )
    finally:
        if logs is not None:
            logs += connection.logs


def with_audits(pieces: Sequence[PieceResult], reports: Sequence[AuditReport]) -> tuple[PieceResult, ...]:
    """Return `pieces` in their final state; `reports` are those of the pieces with kept frames, in the same order."""
    due = iter(reports)
    return tuple(piece if piece.kept is None else with_audit(piece, next(due)) for piece in pieces)
