"""Files of a match: `result.json` for people and programs, `perturbed.npz` and `trace.npz` for the arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.domain.samples import Sample
from evaluation.formats.query.results import MatchResult


def median_distance(result: MatchResult) -> float:
    """Return the median over samples of the match's distances."""
    return float(np.median([row.distance for row in result.samples]))


def as_dict(result: MatchResult) -> dict[str, Any]:
    """Return the content of `result.json`."""
    return {
        "rules": result.rules.as_dict(),
        "track": str(result.track),
        "model": result.model,
        "attack": result.attack,
        "median_distance": median_distance(result),
        "audit": {
            **asdict(result.audit),
            "passed": result.audit.passed,
            "open": result.audit.open,
        },
        "failures": [
            {"side": str(f.side), "reason": str(f.reason), "text": f.reason.text, "detail": f.detail}
            for f in result.failures
        ],
        "samples": [
            {
                "sample": row.sample,
                "label": row.label,
                "target": row.target,
                "outcome": str(row.outcome),
                "distance": row.distance,
                "worst_case": row.worst_case,
                "queries": row.queries,
                "seconds": round(row.seconds, 4),
                "reason": str(row.reason) if row.reason else None,
            }
            for row in result.samples
        ],
    }


def write_result(result: MatchResult, samples: Sequence[Sample], directory: Path) -> None:
    """Write the files of a match to `directory`, created if necessary."""
    directory.mkdir(parents=True, exist_ok=True)
    images = np.stack([sample.image for sample in samples])
    numbers = np.array([sample.number for sample in samples], np.int64)
    np.savez_compressed(
        directory / "perturbed.npz",
        sample=numbers,
        clean=images,
        perturbed=np.concatenate([piece.perturbed for piece in result.pieces]),
        found_label=np.array([-1 if row.found_label is None else row.found_label for row in result.samples], np.int16),
    )
    traces = [piece.trace for piece in result.pieces]
    np.savez_compressed(
        directory / "trace.npz",
        sample=np.concatenate([trace.sample for trace in traces]),
        charged=np.concatenate([trace.charged for trace in traces]),
        query=np.concatenate([trace.query for trace in traces]),
        label=np.concatenate([trace.label for trace in traces]),
        distance=np.concatenate([trace.distance for trace in traces]),
    )
    # last: if it exists, all files are complete
    (directory / "result.json").write_text(json.dumps(as_dict(result), indent=1) + "\n", encoding="utf-8")


def read_result(directory: Path) -> dict[str, Any]:
    """Return what `write_result` wrote to `result.json`."""
    loaded: dict[str, Any] = json.loads((directory / "result.json").read_text(encoding="utf-8"))
    return loaded
