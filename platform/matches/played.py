"""What comes of a piece, as values: between the engine that plays it and the queue that commits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.domain.results import AuditReport, SampleResult


@dataclass(frozen=True, eq=False)
class PlayedPiece:
    """What is committed of a piece. `audit` and `failures` are what came up since the piece before; no player's output.

    `artefact` is the digest, in the object store, of the scored images and the trace.
    """

    samples: tuple[SampleResult, ...]
    seconds: float
    audit: dict[str, int]
    failures: list[dict[str, Any]]
    artefact: str


def sum_audits(audits: Iterable[Mapping[str, int]]) -> dict[str, int | bool]:
    """The audit of a match from those of its pieces, and whether it is `passed`."""
    total: Counter[str] = Counter()
    for counts in audits:
        total.update(counts)
    report = AuditReport(**total)
    return {**asdict(report), "passed": report.passed}
