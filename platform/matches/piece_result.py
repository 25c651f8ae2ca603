"""Results of a piece as values, between the engine that plays it and the queue that commits it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.domain.results import AuditReport, SampleResult, sum_reports


@dataclass(frozen=True, eq=False)
class PlayedPiece:
    """The part of a piece's result that is committed; no output of a player.

    `artefact` is the digest, in the object store, of the scored images and the trace.
    """

    samples: tuple[SampleResult, ...]
    seconds: float
    audit: AuditReport
    failures: list[dict[str, Any]]
    artefact: str


def sum_audits(audits: Iterable[Mapping[str, int]]) -> dict[str, int | bool]:
    """Return the audit of a match: the sums over its pieces, and what follows from them."""
    report = sum_reports(AuditReport(**counts) for counts in audits)
    return {**asdict(report), "passed": report.passed, "open": report.open, "stateful": report.stateful}
