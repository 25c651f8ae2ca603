"""Results of runs that tests commit without running anything."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from competitions.sample_store import samples_of
from evaluation.formats.transfer.rules import TransferRules
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.models import AttackRun, RepeatRun, Tournament
from formats.transfer.tournaments.selectors import AnyRun
from submissions.models import Player
from tests.platform.claims import take_runs


def result(run: AnyRun, share: float = 1.0) -> dict[str, Any]:
    """Return a result: an attack made every image, a defence labelled all and `share` of them right, and so again."""
    columns: dict[str, Any] = {"seconds": 2.0, "calibration": 1.0}
    if isinstance(run, AttackRun):
        return columns | {"made": run.images, "hashes": ["0" * 64] * run.images}
    if isinstance(run, RepeatRun):
        return columns | {"labels": [0] * len(run.images), "changed": 0, "lost": 0, "gained": 0}
    images = run.attack_run.images
    return columns | {"labelled": images, "correct": round(share * images), "hits": 0, "labels": [0] * images}


def is_right(attack: Player, defence: Player, sample: int) -> bool:
    """Return whether a defence labels a sample right in `true_result`: it follows from the contents alone."""
    return zlib.crc32(f"{attack.digest} {defence.digest} {sample}".encode()) % 3 > 0


def true_result(run: AnyRun) -> dict[str, Any]:
    """Return a result whose counts follow from its labels, and the labels from the contents of both players."""
    columns: dict[str, Any] = {"seconds": 1.0, "calibration": 1.0}
    if isinstance(run, AttackRun):
        hashes = [f"{run.pk:064}"] * run.images
        return columns | {"made": run.images, "hashes": hashes, "artefact": "0" * 64}
    if isinstance(run, RepeatRun):
        return columns | {"labels": [], "changed": 0, "lost": 0, "gained": 0}
    attack_run = run.attack_run
    first = attack_run.batch * attack_run.tournament.rules.rules_as(TransferRules).batch_images
    samples = samples_of(attack_run.tournament.sample_set)[first : first + attack_run.images]
    right = [is_right(attack_run.attack, run.defence, first + index) for index in range(attack_run.images)]
    labels = [
        int(sample.label) if held else (int(sample.label) + 1) % 10 for sample, held in zip(samples, right, strict=True)
    ]
    hits = sum(label == sample.target for label, sample in zip(labels, samples, strict=True))
    targeted = attack_run.attack.track_name == "targeted_attack"
    return columns | {"labelled": len(labels), "labels": labels, "correct": sum(right), "hits": hits * targeted}


def commit_all(tournament: Tournament, share: float = 1.0) -> int:
    """Commit a result of everything that waits, and of what follows; return the number of runs, but repeats."""
    played = 0
    for run in claimed_runs(tournament):
        run_queue.commit(run, result(run, share))
        played += not isinstance(run, RepeatRun)
    return played


def claimed_runs(tournament: Tournament) -> Iterator[AnyRun]:
    """Claim run after run, with a step of the tournament before and where none waits, until none follows from it."""
    followed = True
    while followed:
        services.advance(tournament)
        followed = False
        for run in take_runs():
            followed = True
            yield run
