"""Adapter: benchmarks a submission with one attack, and reads the stored results."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import logging
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from competitions.models import Competition
from competitions.sample_store import samples_of
from core import clock, object_store
from core.errors import Fault
from evaluation.domain.players import Player as EnginePlayer
from evaluation.domain.samples import Sample
from evaluation.formats.curves.attacks.base import Attack, Batch, Findings
from evaluation.formats.curves.attacks.interpolation import Interpolation
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.counted import CountedModel
from evaluation.formats.curves.models.sandboxed import PlayerFailedError, as_images, as_pixels, sandboxed
from evaluation.formats.curves.results import Booleans, Floats, Results
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.scoring.curves import accuracy_by_budget, accuracy_by_strength, median_distance
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm, ThreatModel
from formats.curves.models import Benchmark
from formats.curves.player_builds import ready_player
from formats.curves.rules import curves_rules
from submissions.models import Player
from workers.calibration import calibration
from workers.sandboxes import open_sandbox, resources
from workers.worker_slot import device_of, slot

log = logging.getLogger(__name__)

ATTACKS: Mapping[str, type[Attack]] = {each.name: each for each in (Interpolation,)}
"""The attacks that rules may list: they need nothing but labels, which is what a submission answers."""

BATCH = 64
"""Images that are attacked at once: as many as a frame has."""

GRID = tuple(number / 10 for number in range(31))
"""The budgets of curves, in multiples of the fixed one."""


def check_attacks(rules: CurvesRules) -> None:
    """Raise `ValueError` for an attack that cannot be run here, or not with this goal or norm."""
    for each in rules.attacks:
        found = ATTACKS.get(each.name)
        if found is None:
            raise ValueError(f"there is no attack {each.name!r}; the attacks are {', '.join(sorted(ATTACKS))}")
        if each.goal not in found.goals or each.norm not in found.norms:
            raise ValueError(f"{each.name} has no {each.goal} attack in {each.norm}")


def knowledge_of(attack: ListedAttack) -> Knowledge:
    """Return what an attack of the rules may see of a model."""
    return ATTACKS[attack.name].knowledge


def attack_title(name: str) -> str:
    """Return the name of an attack for people."""
    return ATTACKS[name].title if name in ATTACKS else name


def played(item: Benchmark) -> dict[str, Any]:
    """Play a benchmark; return the columns of its result. An error of the submission is part of them."""
    rules, player = curves_rules(item.rules), item.submission.player
    if player is None:
        raise Fault(f"{item.submission} is ready without a player")
    seed = seed_of(item.rules.competition, player, item.sample_set.digest, item.listed)
    try:
        results = benchmark(
            ready_player(player, log.debug), samples_of(item.sample_set), item.listed, rules,
            seed=seed, samples_digest=item.sample_set.digest,
        )  # fmt: skip
    except PlayerFailedError as error:
        return {"reason": str(error.reason), "detail": error.detail, "played_at": clock.database_now()}
    median = median_distance(results)
    return {
        "result": object_store.put(pack(results)),
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
    samples_digest: str,
    on_log: Callable[[bytes], None] | None = None,
) -> Results:
    """Attack a player in its sandbox on all samples. Raise `PlayerFailedError` for an error of its team, or `Fault`.

    Equal players, samples, attacks and seeds give equal results.
    """
    with sandboxed(
        player, sandbox=open_sandbox(), shape=rules.shape, classes=rules.classes,
        setup_seconds=rules.setup_seconds, seconds_per_image=rules.model_seconds_per_image,
        calibration=calibration(), resources=resources(device_of(slot())), on_log=on_log,
    ) as model:  # fmt: skip
        return attacked(model, samples, attack, rules, seed=seed, digests=(player.digest, samples_digest))


def attacked(
    model: Classifier,
    samples: Sequence[Sample],
    attack: ListedAttack,
    rules: CurvesRules,
    *,
    seed: int,
    digests: tuple[str, str],
) -> Results:
    """Attack a model on all samples; `digests` are those of the model and of the samples."""
    made = ATTACKS[attack.name]()
    strengths = strengths_to(attack.queries)
    images = as_images(np.stack([sample.image for sample in samples]))
    labels = torch.tensor([sample.label for sample in samples])
    targets = torch.tensor([-1 if sample.target is None else sample.target for sample in samples])
    clean_labels = torch.cat([model.labels(part) for part in images.split(BATCH)])
    targeted = attack.goal is Goal.TARGETED
    fallen = clean_labels == targets if targeted else clean_labels != labels
    starts, has_start = _starts(images, clean_labels, targets if targeted else labels, targeted=targeted)
    distances = torch.where(fallen, 0.0, torch.inf)
    traces = torch.where(fallen[:, None], 0.0, torch.full((len(samples), len(strengths)), torch.inf))
    queries = torch.zeros(len(samples), dtype=torch.int64)
    for rows in torch.arange(len(samples))[~fallen & has_start].split(BATCH):
        found = _PixelFindings(images[rows], attack.norm, strengths)
        counted = CountedModel(model, made.knowledge, len(rows), attack.queries)
        batch = Batch(
            images[rows], labels[rows], targets[rows] if targeted else None, rows.tolist(), attack.norm,
            torch.full((len(rows),), torch.inf), counted, found, seed, starts=starts[rows],
        )  # fmt: skip
        made.run(batch)
        distances[rows], traces[rows], queries[rows] = found.distances, found.traces, counted.queries
    return Results(
        threat_model=ThreatModel(attack.goal, made.capability, attack.norm, made.knowledge),
        attack=attack.name,
        parameters=asdict(made) | {"queries": attack.queries, "seed": seed},
        model=model.name,
        model_digest=digests[0],
        dataset="samples",
        dataset_digest=digests[1],
        numbers=np.array([sample.number for sample in samples], np.int64),
        labels=labels.numpy(),
        targets=targets.numpy() if targeted else np.full(len(samples), -1, np.int64),
        clean_labels=clean_labels.numpy(),
        distances=distances.double().numpy(),
        tried_budgets=np.zeros((len(samples), 0)),
        tried_found=np.zeros((len(samples), 0), np.bool_),
        fixed_budget=rules.budget(attack.norm),
        strengths=np.array(strengths, np.int64),
        traces=traces.double().numpy(),
        queries=queries.numpy(),
        gradients=np.zeros(len(samples), np.int64),
    )


class _PixelFindings(Findings):
    """Findings as the player saw them: a distance is that of the image rounded to 8 bits."""

    def add(self, images: Tensor, rows: Tensor, strength: Tensor | int) -> None:
        super().add(as_images(as_pixels(images)), rows, strength)


def _starts(images: Tensor, found: Tensor, wanted: Tensor, *, targeted: bool) -> tuple[Tensor, Tensor]:
    """Return for each image another one from which an attack can start, and whether there is one.

    It is the nearest of the samples whose label, as the model says, is the target, or is not the right one.
    """
    fits = (found[None, :] == wanted[:, None]) if targeted else (found[None, :] != wanted[:, None])
    apart = torch.cdist(images.flatten(1), images.flatten(1)).masked_fill(~fits, torch.inf)
    return images[apart.argmin(dim=1)], fits.any(dim=1)


def strengths_to(limit: int) -> list[int]:
    """Return the numbers of queries at which traces are kept: 1, 2, 5, 10, 20 ... and the limit."""
    steps = (step * 10**power for power in range(7) for step in (1, 2, 5))
    return [*(each for each in steps if each < limit), limit]


def seed_of(competition: Competition, player: Player, samples_digest: str, attack: ListedAttack) -> int:
    """Return the seed of a benchmark: 63 bits that follow from the model, the samples and the attack.

    Teams cannot compute it without the competition's secret salt. A repository stands for its models, so that a team
    does not draw again by changing a comment.
    """
    owner = f"baseline {player.baseline}" if player.baseline else f"repository {player.repository_id}"
    text = json.dumps([owner, samples_digest, attack.name, attack.goal, attack.norm, attack.queries])
    return int.from_bytes(hmac.digest(bytes.fromhex(competition.seed_salt), text.encode(), hashlib.sha256)[:8]) >> 1


_ARRAYS = (
    "numbers", "labels", "targets", "clean_labels", "distances", "tried_budgets", "tried_found", "strengths", "traces",
    "queries", "gradients",
)  # fmt: skip


def pack(results: Results) -> bytes:
    """Return results as an .npz with a part `about` in JSON: equal results give equal bytes at any time."""
    about = {
        "threat_model": {name: str(value) for name, value in asdict(results.threat_model).items()},
        **{
            name: getattr(results, name)
            for name in ("attack", "parameters", "model", "model_digest", "dataset", "dataset_digest", "fixed_budget")
        },
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        # an explicit ZipInfo stores no time
        archive.writestr(zipfile.ZipInfo("about.json"), json.dumps(about, sort_keys=True), zipfile.ZIP_DEFLATED)
        for name in _ARRAYS:
            part = io.BytesIO()
            np.lib.format.write_array(part, getattr(results, name), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue(), zipfile.ZIP_DEFLATED)
    return file.getvalue()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What curves need of stored results."""

    right: Booleans
    distances: Floats
    strengths: Sequence[int]
    by_strength: Sequence[float]
    fixed_budget: float

    def __post_init__(self) -> None:
        self.right.setflags(write=False)
        self.distances.setflags(write=False)


@lru_cache(maxsize=2048)
def outcome_of(digest: str) -> Outcome:
    """Return the curves of stored results. Raise `Fault` if they are missing or damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(object_store.get(digest))) as archive:
            about = json.loads(archive.read("about.json"))
            arrays = {
                name: np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
                for name in _ARRAYS
            }
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise Fault(f"the results {digest} cannot be read: {error}") from error
    threat = about.pop("threat_model")
    results = Results(
        threat_model=ThreatModel(
            Goal(threat["goal"]), threat["capability"], Norm(threat["norm"]), Knowledge(threat["knowledge"])
        ),
        **about,
        **arrays,
    )
    return Outcome(
        right=results.right,
        distances=results.distances,
        strengths=results.strengths.tolist(),
        by_strength=accuracy_by_strength(results).tolist(),
        fixed_budget=results.fixed_budget,
    )


@dataclass(frozen=True)
class Standing:
    """The numbers of a submission under one threat model."""

    accuracy: float
    clean_accuracy: float
    median_distance: float | None
    budgets: Sequence[float]
    curve: Sequence[float]


def standing_of(digests: Sequence[str], budget: float) -> Standing:
    """Return what follows from the results of all attacks of a threat model: of each image the nearest adversarial."""
    outcomes = [outcome_of(digest) for digest in digests]
    right = np.logical_and.reduce([each.right for each in outcomes])
    distances = np.minimum.reduce([each.distances for each in outcomes])
    budgets = budgets_of(budget)
    return Standing(
        accuracy=float((right & (distances > budget)).mean()),
        clean_accuracy=float(right.mean()),
        median_distance=_finite(float(np.median(distances))),
        budgets=budgets,
        curve=curve_of(right, distances, budgets),
    )


def budgets_of(budget: float) -> list[float]:
    """Return the budgets of a curve around a fixed one, which is one of them."""
    return [round(share * budget, 10) for share in GRID]


def curve_of(right: Booleans, distances: Floats, budgets: Sequence[float]) -> list[float]:
    """Return the accuracy within each budget."""
    return [float((right & (distances > each)).mean()) for each in budgets]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
