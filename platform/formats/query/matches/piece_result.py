"""Results of a piece as values, between the engine that plays it and the queue that commits it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.formats.query.results import AuditReport, RefereedSample, sum_reports


@dataclass(frozen=True, eq=False)
class PlayedPiece:
    """The part of a piece's result that is committed; no output of a player.

    In `model_seconds` of its `seconds` the model answered, None if unknown. `artefact` is the digest, in the object
    store, of the scored images and the trace, `kept` that of the frames for the audit (see
    `formats.query.matches.kept_frames`), empty if there is none.
    """

    samples: tuple[RefereedSample, ...]
    seconds: float
    audit: AuditReport
    failures: list[dict[str, Any]]
    artefact: str
    kept: str = ""
    model_seconds: float | None = None


@dataclass(frozen=True, eq=False)
class AuditedPiece:
    """The audit of a played piece, with the frames `kept`. `samples` are its rows if these changed, otherwise empty.

    The host of the audit repeated `compared` labels of equal frames and distances, and `unequal` of them differ.
    """

    piece: int
    kept: str
    audit: AuditReport
    artefact: str
    samples: tuple[RefereedSample, ...] = ()
    compared: int = 0
    unequal: int = 0


def sum_audits(audits: Iterable[Mapping[str, int]]) -> dict[str, int | bool]:
    """Return the audit of a match: the sums over its pieces, and what follows from them."""
    report = sum_reports(AuditReport(**counts) for counts in audits)
    return {**asdict(report), "passed": report.passed, "open": report.open, "stateful": report.stateful}
