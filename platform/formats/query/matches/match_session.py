"""Adapter: plays matches with the engine, and keeps both players running from one piece to the next."""

from __future__ import annotations

import io
import logging
import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from django.conf import settings

from competitions.sample_store import samples_of
from core import object_store
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.kept_frames import KeptFrames
from evaluation.formats.query.referee.derived_seeds import derive_seed
from evaluation.formats.query.referee.fresh_model_audit import STARTS
from evaluation.formats.query.referee.kept_frame_bytes import in_file, with_audit
from evaluation.formats.query.referee.kept_frame_bytes import pack as pack_kept
from evaluation.formats.query.referee.kept_frame_bytes import unpack as unpack_kept
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.match_players import RESTARTS
from evaluation.formats.query.referee.model_audit import ENOUGH_FRESH, MOST_ALONE
from evaluation.formats.query.results import AuditReport, Failure, Outcome, PieceResult, RefereedSample, Trace
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_after_match import audit_model
from evaluation.formats.query.runner.piece_file import IMAGES, pack
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.protocol.model_time import MODEL_GRACE_SECONDS
from evaluation.scoring.distances import l2
from formats.query.matches import kept_frames, repeated_pieces
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import AuditedPiece, PlayedPiece
from formats.query.matches.player_builds import ready_player
from workers.calibration import require_steady
from workers.models import Worker
from workers.sandboxes import Sandbox, resources
from workers.worker_name import host_of

log = logging.getLogger(__name__)

AUDITED_IMAGES = ENOUGH_FRESH + MOST_ALONE
"""Images of a piece that a freshly started model is asked about after its match."""

_MARGIN_SECONDS = 3600.0
_LOGGED_CHARACTERS = 2000


class MatchSession:
    """A match whose players keep running over all pieces that one worker plays in a row. A context manager."""

    def __init__(self, match: Match, worker: Worker, sandbox: Sandbox) -> None:
        """Prepare both players on this host; they start with the first piece in `sandbox`. Raise `Fault`."""
        model, attack = (ready_player(player, log.debug) for player in (match.model, match.attack))
        self._match, self._worker = match, worker
        self._samples = samples_of(match.sample_set)
        share = resources(worker.device or None)
        self._players = {
            Side.MODEL: SandboxedPlayer(sandbox, model, share),
            Side.ATTACK: SandboxedPlayer(sandbox, attack, share),
        }
        self._refereed = RefereedMatch(
            rules=match.rules.rules_as(QueryRules),
            track=TrackName(match.attack.track_name),
            model=self._players[Side.MODEL],
            attack=self._players[Side.ATTACK],
            seed=match.seed,
            calibration=worker.factor(gpu=match.model.gpu),
            attack_calibration=worker.factor(gpu=match.attack.gpu),
            # bundled submissions are known to be stateless: tests compare them with fresh instances
            fresh_audit=not match.model.baseline,
            reuse_attack=bool(match.attack.baseline),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._refereed.close()

    def play(self, piece: Piece) -> PieceResult:
        """Play `piece`. Errors of players are in the result; platform errors are raised.

        A player that exceeded a limit of time is charged only if this host is as fast as it was.
        """
        samples = list(self._samples[piece.first : piece.first + piece.count])
        waiting = Piece.objects.filter(match=piece.match_id, state=Piece.State.WAITING)
        keep = repeated_pieces.chosen(self._match, host_of(self._worker.name))
        result = self._refereed.play_piece(samples, more=waiting.exists(), keep=keep)
        for side, reason in {(failure.side, failure.reason) for failure in result.failures}:
            gpu = (self._match.model if side is Side.MODEL else self._match.attack).gpu
            require_steady(self._worker.factor(gpu=gpu), reason, gpu=gpu)
        for failure in result.failures:
            self._log_output(failure)
        return result

    def _log_output(self, failure: Failure) -> None:
        """Log the end of what a failed player wrote, for operators alone: it may show secret images."""
        player = self._match.model if failure.side is Side.MODEL else self._match.attack
        outputs = self._players[failure.side].logs
        log.warning(
            "the %s %s failed: %s %s; its output ends with: %s",
            failure.side,
            player,
            failure.reason.text,
            failure.detail,
            outputs[-1][-_LOGGED_CHARACTERS:] if outputs else "",
        )

    def settle(self, result: PieceResult) -> PlayedPiece:
        """Store the images and the trace; return what to commit of the piece just played."""
        return PlayedPiece(
            samples=result.samples,
            seconds=result.seconds,
            audit=result.audit,
            failures=[_failure(failure) for failure in result.failures],
            artefact=object_store.put(pack(result)),
            kept=kept_frames.keep(pack_kept(result.kept)) if result.kept and result.audit.open else "",
            model_seconds=result.model_seconds,
        )


def audit(match: Match, worker: Worker, sandbox: Sandbox) -> list[AuditedPiece]:
    """Audit the model of a match on a fresh instance, alone on this host; return the pieces that wait for it.

    Errors of the model are in the counts; platform errors are raised. A model that exceeded a limit of time is charged
    only if this host is as fast as it was. A bundled model is known to pass: what it answers here compares this host
    with the one that played, and counts for nothing else.
    """
    pieces = list(match.pieces.filter(state=Piece.State.PLAYED).exclude(kept="").order_by("first"))
    # images of all pieces are asked in one order, and gigabytes of them are not held in memory
    with tempfile.TemporaryFile(dir=settings.STATE) as file:  # the temporary directory may be memory
        kept = [unpack_kept(kept_frames.read(piece.kept), in_file(file)) for piece in pieces]
        reports = _reports(match, worker, sandbox, pieces, kept)
        rows = zip(pieces, kept, reports, strict=True)
        return [_audited(match, piece, frames, report) for piece, frames, report in rows]


def _reports(
    match: Match, worker: Worker, sandbox: Sandbox, pieces: Sequence[Piece], kept: Sequence[KeptFrames]
) -> tuple[AuditReport, ...]:
    """Return the counts of each piece, of which a fresh instance is asked about the `kept` frames."""
    factor, failures = worker.factor(gpu=match.model.gpu), list[Failure]()
    reports = audit_model(
        model=ready_player(match.model, log.debug),
        track=TrackName(match.attack.track_name),
        rules=match.rules.rules_as(QueryRules),
        kept=kept,
        sandbox=sandbox,
        seed=derive_seed(match.seed, "deferred audit", *(piece.number for piece in pieces)),
        resources=resources(worker.device or None),
        calibration=factor,
        # it takes ten seconds for all programs of a host, which the sandbox for trusted code shows to players
        level_caches=sandbox.for_untrusted_code and not match.model.baseline,
        failures=failures,
    )
    for reason in {failure.reason for failure in failures}:  # images without an answer count as changed
        require_steady(factor, reason, gpu=match.model.gpu)
    return reports


def _audited(match: Match, piece: Piece, kept: KeptFrames, report: AuditReport) -> AuditedPiece:
    before, stored = AuditReport(**piece.audit), _stored(match, piece)
    answered = report.fresh - report.fresh_unanswered
    distances = _unequal_distances(match, stored)
    done = AuditedPiece(
        piece.pk,
        piece.kept,
        replace(before, fresh_due=0) if match.model.baseline else before + report,
        piece.artefact,
        compared=answered + len(distances),
        unequal=report.fresh_changed - report.fresh_unanswered + sum(distances),
    )
    if done.audit.passed:
        return done
    result = with_audit(replace(stored, audit=before, kept=kept), report)
    return replace(done, audit=result.audit, artefact=object_store.put(pack(result)), samples=result.samples)


def _unequal_distances(match: Match, stored: PieceResult) -> list[bool]:
    """Return for each adversarial image of a piece whether this host measures another distance."""
    clean = {sample.number: sample.image for sample in samples_of(match.sample_set)}
    return [
        not math.isclose(min(l2(clean[row.sample], image), row.worst_case), row.distance, rel_tol=1e-9)
        for row, image in zip(stored.samples, stored.perturbed, strict=True)
        if row.outcome is Outcome.ADVERSARIAL
    ]


def _stored(match: Match, piece: Piece) -> PieceResult:
    """Return the result of a played piece from its rows and its artefact, without its failures."""
    samples = {
        sample.number: sample for sample in samples_of(match.sample_set)[piece.first : piece.first + piece.count]
    }
    targeted = match.attack.track_name == TrackName.TARGETED
    rows = tuple(
        RefereedSample(
            sample=row.sample,
            label=samples[row.sample].label,
            target=samples[row.sample].target if targeted else None,
            outcome=Outcome(row.outcome),
            distance=row.distance,
            worst_case=row.worst_case,
            queries=row.queries,
            seconds=row.seconds,
            reason=Reason(row.reason) if row.reason else None,
            found_label=row.found_label,
        )
        for row in piece.sample_results.order_by("sample")
    )
    with np.load(io.BytesIO(object_store.get(piece.artefact)), allow_pickle=False) as columns:
        order = columns["sample"].tolist()
        trace = Trace(*(columns[f"trace_{name}"] for name in ("sample", "charged", "query", "label", "distance")))
        images = columns[IMAGES]
    by_sample = {row.sample: row for row in rows}
    return PieceResult(tuple(by_sample[number] for number in order), images, trace, piece.seconds or 0.0)


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "side": str(failure.side),
        "reason": str(failure.reason),
        "text": failure.reason.text,
        "detail": failure.detail,
        "in_setup": failure.in_setup,
    }


def longest_seconds_of(piece: Piece, worker: Worker) -> float:
    """Return the maximum time that `worker` may hold `piece`: beyond it the worker hangs."""
    match = piece.match
    rules = match.rules.rules_as(QueryRules)
    factor = max(worker.factor(gpu=player.gpu) for player in (match.model, match.attack))
    if not piece.is_audit:
        return longest_seconds(rules, piece.count, factor)
    counts = match.pieces.exclude(kept="").values_list("audit", flat=True)
    return longest_audit_seconds(rules, sum(each.get("fresh_due", 0) for each in counts), factor)


def longest_seconds(rules: QueryRules, samples: int, calibration: float) -> float:
    """Return the maximum time that a worker may hold a piece of `samples`: beyond it the worker hangs.

    Both players may use every start and all their time. Twice that and an hour cover the referee's own queries, and
    players that must be rebuilt on this host.
    """
    starts = 2 * (1 + RESTARTS) * rules.setup_seconds
    model = samples * (rules.query_budget + 1) * rules.model_seconds_per_image + (1 + RESTARTS) * MODEL_GRACE_SECONDS
    attack = samples * rules.attack_seconds_per_sample
    return 2 * calibration * (starts + model + attack) + _MARGIN_SECONDS


def longest_audit_seconds(rules: QueryRules, images: int, calibration: float) -> float:
    """Return the maximum time that a worker may hold an audit of `images`.

    It may first wait until another worker of its host has played its piece of the model. Twice its own time covers the
    images that are asked alone.
    """
    starts = STARTS * (rules.setup_seconds + MODEL_GRACE_SECONDS)
    audit = 2 * calibration * (starts + images * rules.model_seconds_per_image)
    return audit + longest_seconds(rules, rules.piece_samples, calibration)
