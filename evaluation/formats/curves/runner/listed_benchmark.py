"""An attack that the rules of a competition list, run on all samples: by a site, and again from a released round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.samples import Sample
from evaluation.formats.curves.attacks.apgd import ApgdCe
from evaluation.formats.curves.attacks.base import Attack
from evaluation.formats.curves.attacks.boundary import Boundary
from evaluation.formats.curves.attacks.deepfool import DeepFool
from evaluation.formats.curves.attacks.evolutionary import Evolutionary
from evaluation.formats.curves.attacks.fast_minimum_norm import FastMinimumNorm
from evaluation.formats.curves.attacks.hop_skip_jump import HopSkipJump
from evaluation.formats.curves.attacks.iterative import Bim, Mim
from evaluation.formats.curves.attacks.n_attack import NAttack
from evaluation.formats.curves.attacks.square import Square
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.rules import KNOWLEDGE, CurvesRules, ListedAttack
from evaluation.formats.curves.runner.benchmark_run import (
    BenchmarkRun,
    Subject,
    dataset_digest,
    joined,
    play_batch,
    require,
    start_images,
)
from evaluation.formats.curves.runner.benchmark_settings import BenchmarkSettings
from evaluation.formats.curves.threat_models import Knowledge

_WITH_QUERIES = (Boundary, Evolutionary, HopSkipJump, NAttack, Square)
_WITH_ITERATIONS = (ApgdCe, Bim, DeepFool, FastMinimumNorm, Mim)
CLASSES: Mapping[str, type[Attack]] = {each.name: each for each in (*_WITH_QUERIES, *_WITH_ITERATIONS)}
"""The attacks that rules may list."""

BATCH = 64
"""Images that are attacked at once: as many as a frame has."""


def attack_of(listed: ListedAttack) -> Attack:
    """Return the attack that rules list. The `queries` of a white-box attack are its iterations."""
    by_iterations: Mapping[str, Callable[[int], Attack]] = {each.name: each for each in _WITH_ITERATIONS}
    return by_iterations[listed.name](listed.queries) if listed.name in by_iterations else CLASSES[listed.name]()


def attacked(
    model: Classifier, samples: Sequence[Sample], attack: ListedAttack, rules: CurvesRules, *, seed: int, dataset: str
) -> Results:
    """Attack a model on all samples. Distances are those of the nearest adversarials of all runs of the attack."""
    if KNOWLEDGE[attack.name] not in model.offers:
        raise ModelFailedError(Reason.NOT_OFFERED, f"{attack.name} is {KNOWLEDGE[attack.name]}")
    run = BenchmarkRun(attack_of(attack), None, attack.goal, attack.norm)
    budgets = {attack.norm: rules.budget(attack.norm)}
    # APGD takes one gradient more than it has iterations
    settings = BenchmarkSettings(
        seed=seed, batch=BATCH, query_limit=attack.queries, fixed_budgets=budgets, iterations=attack.queries + 1
    )
    starts = start_images(model, samples) if KNOWLEDGE[attack.name] is Knowledge.DECISION else {}
    subject = Subject(model, samples, dataset, starts=starts)
    require(run, subject)
    parts = [play_batch(run, subject, samples[at : at + BATCH], settings) for at in range(0, len(samples), BATCH)]
    found = joined(parts, dataset_digest(samples))
    return replace(found, distances=found.nearest)
