"""Results of runs that tests commit without running anything."""

from __future__ import annotations

from typing import Any

from tournaments import queue, services
from tournaments.models import AttackRun, RepeatRun, Tournament
from tournaments.selectors import AnyRun


def result(run: AnyRun, share: float = 1.0) -> dict[str, Any]:
    """Return a result: an attack made every image, a defence labelled all and `share` of them right, and so again."""
    columns: dict[str, Any] = {"seconds": 2.0, "calibration": 1.0}
    if isinstance(run, AttackRun):
        return columns | {"made": run.images, "hashes": ["0" * 64] * run.images}
    if isinstance(run, RepeatRun):
        return columns | {"labels": [0] * len(run.images), "changed": 0, "lost": 0, "gained": 0}
    images = run.attack_run.images
    return columns | {"labelled": images, "correct": round(share * images), "hits": 0, "labels": [0] * images}


def commit_all(tournament: Tournament, share: float = 1.0) -> int:
    """Commit a result of everything that waits, with the steps between; return the number of runs, but repeats."""
    played = 0
    while True:
        services.advance(tournament)
        run = queue.claim("worker")
        if run is None:
            return played
        queue.commit(run, result(run, share))
        played += not isinstance(run, RepeatRun)
