"""Workers that play whatever waits, of every kind of work, with results that follow from the players alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from celery import current_app

from competitions.sample_store import samples_of, worst_cases
from core import clock, object_store
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.threat_models import Capability, Knowledge, ThreatModel
from evaluation.formats.query.results import AuditReport, Outcome, RefereedSample
from formats.curves import benchmark_runs
from formats.curves.best_known.proof_work import proofs
from formats.query.matches import piece_queue as pieces
from formats.query.matches.piece_result import PlayedPiece
from formats.transfer.tournaments import run_queue as runs
from tests.evaluation.formats.curves.results_of import results_of
from tests.platform.formats.transfer.tournaments.results import true_result
from workers import queue
from workers.models import Worker
from workers.sandboxes import open_sandbox
from workers.work_item_models import WorkItem


def _commit_piece(claim: Any) -> None:
    """An attack finds a perturbation of each sample."""
    piece, match = claim.piece, claim.piece.match
    most = worst_cases(match.sample_set)
    rows = []
    for sample in range(piece.first, piece.first + piece.count):
        share = zlib.crc32(f"{match.model.digest} {match.attack.digest} {sample}".encode()) / 2**32
        distance = (0.1 + 0.8 * share) * most[sample]
        rows.append(RefereedSample(sample, 0, None, Outcome.ADVERSARIAL, distance, most[sample], 10, 0.5, None))
    artefact = object_store.put(b"the images of a piece")
    pieces.commit(claim, PlayedPiece(tuple(rows), 1.0, AuditReport(), [], artefact))


def _commit_run(claim: Any) -> None:
    runs.commit(claim, true_result(claim))


def _commit_benchmark(claim: Any) -> None:
    """An attack finds an adversarial of every image that the model gets right, at a distance of its own."""
    samples, rules = samples_of(claim.sample_set), claim.rules.rules_as(CurvesRules)
    names = [f"{claim.submission.player.digest} {claim.attack} {sample.number}" for sample in samples]
    distances = [2.0 * rules.budget(claim.listed.norm) * zlib.crc32(name.encode()) / 2**32 for name in names]
    found = replace(
        results_of(distances, attack=claim.attack, goal=claim.listed.goal),
        threat_model=ThreatModel(claim.listed.goal, Capability.OPTIMISED, claim.listed.norm, Knowledge.DECISION),
        fixed_budget=rules.budget(claim.listed.norm),
        labels=np.array([sample.label for sample in samples]),
        clean_labels=np.array([sample.label for sample in samples]),
    )
    with patch.object(benchmark_runs, "ready_player"), patch.object(benchmark_runs, "benchmark", return_value=found):
        assert claim.release(state=WorkItem.State.PLAYED, **benchmark_runs.played(claim, open_sandbox()))


def _commit_guess(claim: Any) -> None:
    assert claim.release(state=WorkItem.State.PLAYED, share=float(claim.submission_id))


def _commit_proof(claim: Any) -> None:
    """The model is right on every image."""
    result = {"outcome": "verified", "verdicts": ["right"] * claim.images}
    assert claim.release(state=WorkItem.State.PLAYED, **result)
    proofs.committed(claim, result)


def _commit_challenge(claim: Any) -> None:
    assert claim.release(state=WorkItem.State.PLAYED, median=1.0)


COMMITS: Mapping[str, Callable[[Any], None]] = {
    "pieces": _commit_piece,
    "runs": _commit_run,
    "guesses": _commit_guess,
    "benchmarks": _commit_benchmark,
    "proofs": _commit_proof,
    "challenges": _commit_challenge,
}
"""How a claimed item of each kind of work gets its result."""


def worker(name: str) -> Worker:
    """Return a worker that has just reported."""
    now = clock.now()
    values = {"worker_class": Worker.Class.CPU, "started_at": now, "last_seen_at": now}
    return Worker.objects.update_or_create(name=name, defaults=values)[0]


def play() -> int:
    """Play all that waits; return how many items."""
    played = 0
    while claimed := queue.claim(worker("arena-1/play/0")):
        COMMITS[claimed.kind.name](claimed.claim)
        played += 1
    return played


def sweep_and_play() -> int:
    """Run every sweep, and play what waits, until nothing is left; return how many items were played."""
    sweeps = {each["task"] for each in current_app.conf.beat_schedule.values() if each["schedule"] in (10.0, 60.0)}
    played = 0
    while True:
        for task in sorted(sweeps):
            current_app.tasks[task]()
        if not (found := play()):
            return played
        played += found
