"""Adapter: a match in the engine's hands, with both players kept warm from one piece to the next."""

from __future__ import annotations

import io
import logging
import zipfile
from collections import Counter
from dataclasses import asdict
from functools import cache
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from competitions.rules import query_rules
from competitions.samples import samples_of
from core import store
from evaluation.domain.players import Track
from evaluation.domain.results import AuditReport, Failure, PieceResult, Reason
from evaluation.domain.rules import QueryRules
from evaluation.referee import clock as referee_clock
from evaluation.referee.clock import MODEL_GRACE_SECONDS
from evaluation.referee.match import Match as Refereed
from evaluation.referee.players import RESTARTS
from evaluation.runner.seat import SandboxSeat
from matches.models import Match, Piece, Worker
from matches.played import PlayedPiece
from submissions.builds import ready_player
from submissions.sandboxes import open_sandbox, resources

log = logging.getLogger(__name__)

IMAGES = "perturbed"
FOUND = "found_label"
"""Names in an artefact, beside `sample` and the columns of the trace (`trace_sample`, `trace_query`, ...)."""

_FOUND_NOTHING = -1

_MARGIN_SECONDS = 3600.0


class Session:
    """A match whose players stay up over all pieces that one worker plays in a row. A context manager."""

    def __init__(self, match: Match, worker: Worker) -> None:
        """Make both players ready on this host (they are started with the first piece); raises `Fault`."""
        model, attack = (ready_player(player, log.debug) for player in (match.model, match.attack))
        self._samples = samples_of(match.sample_set)
        sandbox, share = open_sandbox(), resources(worker.device or None)
        self._refereed = Refereed(
            rules=query_rules(match.rules.values, match.rules.version),
            track=Track(match.attack.kind),
            model=SandboxSeat(sandbox, model, share),
            attack=SandboxSeat(sandbox, attack, share),
            seed=match.seed,
            calibration=worker.calibration,
        )
        self._audit = AuditReport()
        self._failures: Counter[Failure] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._refereed.close()

    def play(self, piece: Piece) -> PieceResult:
        """Play `piece`; what players do wrong is in the result, what we do wrong is raised."""
        return self._refereed.play_piece(list(self._samples[piece.first : piece.first + piece.count]))

    def settle(self, result: PieceResult, *, last: bool) -> PlayedPiece:
        """Keep the images and the trace, and give what is to be committed of the piece just played.

        `last`: no more pieces come in this session, so the second half of the audit is due now, on a fresh model.
        """
        if last:
            self._refereed.ask_fresh_model()
        return PlayedPiece(
            samples=result.samples,
            seconds=result.seconds,
            audit=self._new_counts(),
            failures=self._new_failures(),
            artefact=store.put(pack(result)),
        )

    def _new_counts(self) -> dict[str, int]:
        before, self._audit = asdict(self._audit), self._refereed.audit
        return {name: count - before[name] for name, count in asdict(self._audit).items()}

    def _new_failures(self) -> list[dict[str, Any]]:
        # an audit that failed is told by its counts, once for the whole match
        standing = Counter(failure for failure in self._refereed.failures if failure.reason is not Reason.INCONSISTENT)
        before, self._failures = self._failures, standing
        return [
            {
                "side": str(failure.side),
                "reason": str(failure.reason),
                "text": failure.reason.text,
                "detail": failure.detail,
                "in_setup": failure.in_setup,
            }
            for failure in (standing - before).elements()
        ]


def longest_seconds(rules: QueryRules, samples: int, calibration: float) -> float:
    """How long a piece of `samples` may be in a worker's hands: whoever holds it longer hangs.

    Both players may use every start and all their time; twice that, with an hour, covers the referee's own questions,
    the fresh model of the audit, and players that have to be built again on this host.
    """
    starts = 2 * (1 + RESTARTS) * rules.setup_seconds
    model = samples * (rules.query_budget + 1) * rules.model_seconds_per_image + (1 + RESTARTS) * MODEL_GRACE_SECONDS
    attack = samples * rules.attack_seconds_per_sample
    return 2 * calibration * (starts + model + attack) + _MARGIN_SECONDS


@cache
def calibration() -> float:
    """How much slower than the reference machine this worker is, at least 1; measured once per process."""
    return referee_clock.calibrate()


def pack(result: PieceResult) -> bytes:
    """The artefact of a piece, an .npz: equal results give equal bytes, whatever the clock."""
    found = [_FOUND_NOTHING if row.found_label is None else row.found_label for row in result.samples]
    columns: dict[str, NDArray[Any]] = {
        "sample": np.array([row.sample for row in result.samples], np.uint16),
        IMAGES: np.ascontiguousarray(result.perturbed, np.uint8),
        FOUND: np.array(found, np.int16),
        "trace_sample": result.trace.sample,
        "trace_query": result.trace.query,
        "trace_label": result.trace.label,
        "trace_distance": result.trace.distance,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, column in columns.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, column, allow_pickle=False)
            # a ZipInfo of its own carries no time of day
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue(), zipfile.ZIP_DEFLATED)
    return file.getvalue()
