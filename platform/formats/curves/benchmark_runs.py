"""Adapter: benchmarks a submission with one attack.

It loads PyTorch, which takes seconds and some 200 MB: only a worker that plays imports it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from competitions.models import Competition
from competitions.sample_store import samples_of
from core import clock, object_store
from core.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import QueryPlayer as EnginePlayer
from evaluation.domain.samples import Sample
from evaluation.formats.curves.models.replayed_queries_check import ReplayedQueries
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError, sandboxed
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.runner.listed_benchmark import attacked
from evaluation.formats.curves.runner.results_file import encode
from evaluation.formats.curves.scoring.curves import accuracy_by_budget, median_distance
from formats.curves.models import Benchmark
from formats.curves.player_builds import ready_player
from submissions.models import Player
from submissions.secret_seeds import secret_seed, seed_identity
from workers.calibration import calibration, require_steady
from workers.sandboxes import Sandbox, resources
from workers.slot_device import device_of, slot

log = logging.getLogger(__name__)

_WITH_DETAIL = frozenset(
    (Reason.EXITED_IN_SETUP, Reason.CRASHED, Reason.NOT_OFFERED, Reason.SCORES_DISAGREE, Reason.INCONSISTENT)
)
"""Reasons whose detail the team sees. That of others quotes numbers that the player sent, which could name secret
images."""


def played(item: Benchmark, sandbox: Sandbox) -> dict[str, Any]:
    """Play a benchmark; return the columns of its result. An error of the submission is part of them."""
    rules, player = item.rules.rules_as(CurvesRules), item.submission.player
    if player is None:
        raise Fault(f"{item.submission} is ready without a player")
    seed = seed_of(item.rules.competition, player, item.sample_set.digest, item.listed)
    try:
        results = benchmark(
            ready_player(player, log.debug), samples_of(item.sample_set), item.listed, rules,
            seed=seed, dataset=item.sample_set.source, sandbox=sandbox,
        )  # fmt: skip
    except ModelFailedError as error:
        require_steady(calibration(gpu=player.gpu), error.reason, gpu=player.gpu)
        detail = error.detail if error.reason in _WITH_DETAIL else ""
        return {"seed": seed, "reason": str(error.reason), "detail": detail, "played_at": clock.database_now()}
    median = median_distance(results)
    return {
        "seed": seed,
        "result": object_store.put(encode(results)),
        "accuracy": float(accuracy_by_budget(results, np.array([results.fixed_budget]))[0]),
        "median_distance": median if np.isfinite(median) else None,
        "most_queries": int(results.queries.max()),
        "played_at": clock.database_now(),
    }


def benchmark(
    player: EnginePlayer,
    samples: Sequence[Sample],
    attack: ListedAttack,
    rules: CurvesRules,
    *,
    seed: int,
    dataset: str,
    sandbox: Sandbox,
    on_log: Callable[[bytes], None] | None = None,
) -> Results:
    """Attack a player in `sandbox` on all samples. Raise `ModelFailedError` for an error of its team, or `Fault`.

    Equal players, samples, attacks and seeds give equal results.
    """
    start = partial(
        sandboxed, player, sandbox=sandbox, shape=rules.shape, classes=rules.classes,
        setup_seconds=rules.setup_seconds, seconds_per_image=rules.model_seconds_per_image,
        calibration=calibration(gpu=player.gpu), resources=resources(device_of(slot())), on_log=on_log,
    )  # fmt: skip
    replayed = ReplayedQueries(seed)
    with start(on_answer=replayed.add) as model:
        results = attacked(model, samples, attack, rules, seed=seed, dataset=dataset)
    with start() as fresh:
        replayed.ask(fresh)
    return results


def seed_of(competition: Competition, player: Player, samples_digest: str, attack: ListedAttack) -> int:
    """Return the seed of a benchmark: 63 bits that follow from the owner of the model, the samples and the attack."""
    asked = attack.name, attack.goal, attack.norm, attack.queries
    return secret_seed(competition, seed_identity(player), samples_digest, *asked)
