"""One run: an attack with one goal and norm against one model, batch by batch, with what is done kept on disk."""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evaluation.domain.errors import Refusal
from evaluation.domain.samples import Sample
from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, Findings, reaches
from evaluation.formats.curves.attacks.smallest_budget import search
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.counted_model import CountedModel
from evaluation.formats.curves.results import Floats, Integers, Results
from evaluation.formats.curves.runner.benchmark_settings import BenchmarkSettings
from evaluation.formats.curves.runner.results_file import decode, encode
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm, ThreatModel


@dataclass(frozen=True)
class BenchmarkRun:
    """What is run: the attack with its parameters for each curve, and the threat model."""

    by_budget: Attack
    by_strength: Attack | None
    """The attack at the fixed budget; None for an optimising attack, whose trace gives both curves."""
    goal: Goal
    norm: Norm

    @property
    def threat_model(self) -> ThreatModel:
        """The threat model."""
        return ThreatModel(self.goal, self.by_budget.capability, self.norm, self.by_budget.knowledge)

    def key(self, model: str) -> str:
        """Return the name of its files."""
        return f"{model}--{self.by_budget.name}--{self.goal}--{self.norm}"


@dataclass(frozen=True, eq=False)
class Subject:
    """Models and data set of a run."""

    model: Classifier
    samples: Sequence[Sample]
    dataset: str
    substitute: Classifier | None = None
    """The network that transfer attacks use in place of the model."""
    starts: Mapping[int, Tensor] = field(default_factory=dict)
    """An image that the model gives each class: decision-based attacks start from them, without a target where noise
    does not serve."""


Progress = Callable[[int], None]
"""Called with the number of images of a batch when it is done."""


def play(run: BenchmarkRun, subject: Subject, settings: BenchmarkSettings, folder: Path, progress: Progress) -> Results:
    """Return the results of a run. What `folder` has of the same run is used again; the rest is added to it.

    Raise `Refusal` if the model does not offer what the attack has to know, or there is no substitute for a transfer
    attack.
    """
    require(run, subject)
    key = run.key(subject.model.name)
    parts = []
    for start in range(0, len(subject.samples), settings.batch):
        samples = subject.samples[start : start + settings.batch]
        path = folder / "batches" / f"{key}--{start:06d}.npz"
        part = _stored(path, _identity(run, subject, samples, settings))
        if part is None:
            part = play_batch(run, subject, samples, settings)
            _write(path, encode(part))
        parts.append(part)
        progress(len(samples))
    whole = joined(parts, dataset_digest(subject.samples))
    _write(folder / "results" / f"{key}.npz", encode(whole))
    return whole


def forget(run: BenchmarkRun, subject: Subject, folder: Path) -> None:
    """Remove what `folder` has of a run."""
    key = run.key(subject.model.name)
    (folder / "results" / f"{key}.npz").unlink(missing_ok=True)
    for batch in (folder / "batches").glob(f"{glob.escape(key)}--*.npz"):
        batch.unlink()


def require(run: BenchmarkRun, subject: Subject) -> None:
    """Raise `Refusal` if an attack cannot be run against a model."""
    attack, model = run.by_budget, subject.model
    if run.goal not in attack.goals or _plain(run.norm) not in attack.norms:
        raise Refusal(f"{attack.name} has no {run.goal} form in {run.norm}", fix="see gauntlet benchmark --list")
    needed = Knowledge.DECISION if attack.knowledge is Knowledge.TRANSFER else attack.knowledge
    if needed not in model.offers:
        raise Refusal(
            f"{attack.name} needs {needed} access, which {model.name} does not offer",
            fix="choose an attack with less knowledge, or a model from a Python file",
        )
    if model.rounds and (why := attack.fails_with_rounding(run.norm)):
        raise Refusal(
            f"{attack.name} {why}, and {model.name} sees images of 8 bits",
            fix="choose an optimising attack, or one in linf that needs no finer changes",
        )
    if attack.knowledge is Knowledge.TRANSFER and subject.substitute is None:
        raise Refusal(f"{attack.name} is a transfer attack and needs a substitute", fix="name one: --substitute MODEL")


def play_batch(run: BenchmarkRun, subject: Subject, samples: Sequence[Sample], settings: BenchmarkSettings) -> Results:
    """Attack some samples. The norm of the results is the one of the run.

    What a random model draws follows from the seed and the number of the first sample.
    """
    device = subject.model.device
    with torch.random.fork_rng([] if device.type == "cpu" else [device]):
        torch.manual_seed(_seed(settings.seed, samples[0].number))
        return _play_batch(run, subject, samples, settings)


def _seed(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"model {seed} {number}".encode()).digest()[:7])


def _play_batch(run: BenchmarkRun, subject: Subject, samples: Sequence[Sample], settings: BenchmarkSettings) -> Results:
    # 1. the images, and those that are adversarial without an attack
    points = _Points(run, subject, samples, settings)
    attacked, device = points.attacked, subject.model.device
    everything = torch.arange(len(attacked), device=device)
    # 2. traces by strength, and distances by budget, in plain L2 where the norm is the normalised one
    unit = points.images[0].numel() ** 0.5 if run.norm is Norm.NORMALISED_L2 else 1.0
    distances = torch.zeros(len(samples), dtype=torch.float64, device=device)
    traces = torch.zeros((len(samples), len(points.strengths)), dtype=torch.float64, device=device)
    tried_budgets = torch.full((len(samples), 0), torch.nan, dtype=torch.float64, device=device)
    tried_found = torch.zeros((len(samples), 0), dtype=torch.bool, device=device)
    by_strength = run.by_strength or run.by_budget
    optimised = by_strength.capability is Capability.OPTIMISED
    fixed = torch.inf if optimised else _whole_steps(settings.fixed_budgets[run.norm], subject.model, run.norm) * unit
    batch = points.batch(by_strength, everything, torch.full(attacked.shape, fixed, device=device))
    if len(attacked):
        by_strength.run(batch)
    traces[attacked] = batch.findings.traces.double() / unit
    if optimised or run.by_budget.fixed_budget_only:
        distances[attacked] = batch.findings.distances.double() / unit
    else:
        first = settings.first_budgets[run.norm] * unit
        searched = search(run.by_budget, points.batch, everything, first, settings.halvings)
        distances[attacked] = searched.distances.double() / unit
        tries = searched.tried_budgets.shape[1]
        tried_budgets = torch.full((len(samples), tries), torch.nan, dtype=torch.float64, device=device)
        tried_found = torch.zeros((len(samples), tries), dtype=torch.bool, device=device)
        tried_budgets[attacked] = searched.tried_budgets.double() / unit
        tried_found[attacked] = searched.tried_found
    # 3. the record
    queries, gradients = points.costs()
    none = np.full(len(samples), -1, np.int64)
    return Results(
        **_identity(run, subject, samples, settings),
        numbers=np.array([sample.number for sample in samples], np.int64),
        labels=points.labels.cpu().numpy(),
        targets=none if points.targets is None else points.targets.cpu().numpy(),
        clean_labels=points.clean.cpu().numpy(),
        distances=_exact(distances.cpu().numpy(), subject.model, run.norm),
        tried_budgets=tried_budgets.cpu().numpy(),
        tried_found=tried_found.cpu().numpy(),
        strengths=np.array(points.strengths, np.int64),
        traces=_exact(traces.cpu().numpy(), subject.model, run.norm),
        queries=queries,
        gradients=gradients,
    )


def _whole_steps(budget: float, model: Classifier, norm: Norm) -> float:
    """Return the largest budget that images of 8 bits can have within a budget, if the model rounds to them."""
    if not (model.rounds and norm is Norm.LINF):
        return budget
    steps = round(budget * 255.0)
    # compared as distances are when they are counted: a budget of 0.0313725 is less than 8/255
    return (steps if steps / 255.0 <= budget else steps - 1) / 255.0


def _exact(distances: Floats, model: Classifier, norm: Norm) -> Floats:
    """Return distances that are multiples of 1/255 in double precision: 8/255 is within a budget of 8/255."""
    if not (model.rounds and norm is Norm.LINF):
        return distances
    return np.asarray(np.rint(distances * 255.0) / 255.0)


def joined(parts: Sequence[Results], digest: str) -> Results:
    """Return the results of several batches as one; `digest` is of all samples."""
    tries = max(part.tried_budgets.shape[1] for part in parts)
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("numbers", "labels", "targets", "clean_labels", "distances", "traces", "queries", "gradients")
    }
    return replace(
        parts[0],
        dataset_digest=digest,
        tried_budgets=np.concatenate([_padded(part.tried_budgets, tries, np.nan) for part in parts]),
        tried_found=np.concatenate([_padded(part.tried_found, tries, False) for part in parts]),
        **arrays,
    )


def start_images(model: Classifier, samples: Sequence[Sample]) -> dict[int, Tensor]:
    """Return for each class the first of some images that the model gives it (Dong et al. 2020, authors' code)."""
    found: dict[int, Tensor] = {}
    if samples:
        images = as_tensor(samples).to(model.device)
        for row, label in enumerate(model.labels(images).tolist()):
            if label == samples[row].label:
                found.setdefault(label, images[row])
    return found


def as_tensor(samples: Sequence[Sample]) -> Tensor:
    """Return the images of samples, float32 (n, channels, height, width) with values in [0, 1]."""
    images = torch.from_numpy(np.stack([sample.image for sample in samples]))
    return images.permute(0, 3, 1, 2).float() / 255  # channels last in memory, as networks compute


def dataset_digest(samples: Sequence[Sample]) -> str:
    """Return the SHA-256 of images, labels and targets in their order."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(f"{sample.label} {sample.target} {sample.image.shape}\n".encode())
        digest.update(sample.image.tobytes())
    return f"sha256:{digest.hexdigest()}"


class _Points:
    """The images of a batch, those of them that are attacked, and what they cost."""

    def __init__(
        self, run: BenchmarkRun, subject: Subject, samples: Sequence[Sample], settings: BenchmarkSettings
    ) -> None:
        self._run, self._subject, self._samples, self._settings = run, subject, samples, settings
        device = subject.model.device
        self.strengths = run.by_budget.strengths or settings.strengths(run.by_budget.knowledge)
        self.images = as_tensor(samples).to(device)
        self.labels = torch.tensor([sample.label for sample in samples], device=device)
        self.targets: Tensor | None = None
        if run.goal is Goal.TARGETED:
            self.targets = torch.tensor([_target(sample) for sample in samples], device=device)
        self.clean = subject.model.labels(self.images)
        adversarial = self.clean != self.labels if self.targets is None else reaches(self.clean, self.targets)
        self.attacked = (~adversarial).nonzero()[:, 0]
        self._counted: list[tuple[Tensor, CountedModel]] = []

    def batch(self, attack: Attack, rows: Tensor, budgets: Tensor) -> AttackedBatch:
        """Return a batch for an attack of some of the attacked images; `rows` are their places among these."""
        chosen = self.attacked[rows]
        limited = attack.knowledge in (Knowledge.SCORE, Knowledge.DECISION)
        limit = self._settings.query_limit if limited else None
        model = CountedModel(self._subject.model, attack.knowledge, len(chosen), limit)
        self._counted.append((chosen, model))
        norm = _plain(self._run.norm)
        return AttackedBatch(
            self.images[chosen],
            self.labels[chosen],
            None if self.targets is None else self.targets[chosen],
            [self._samples[row].number for row in chosen.tolist()],
            norm,
            budgets,
            model,
            Findings(self.images[chosen], norm, self.strengths, self._subject.model.seen),
            self._settings.seed,
            self._subject.substitute,
            _starts(self._subject, self.labels[chosen], None if self.targets is None else self.targets[chosen]),
        )

    def costs(self) -> tuple[Integers, Integers]:
        """Return the queries and the gradients of each image in all batches, (n,)."""
        queries = torch.zeros(len(self.images), dtype=torch.int64, device=self.images.device)
        gradients = torch.zeros_like(queries)
        for chosen, model in self._counted:
            queries.index_add_(0, chosen, model.queries)
            gradients.index_add_(0, chosen, model.gradients)
        return queries.cpu().numpy(), gradients.cpu().numpy()


def _starts(subject: Subject, labels: Tensor, targets: Tensor | None) -> Tensor | None:
    """Return an image of the target class of each image, or else of a class that is not its own.

    They are as the model sees them; NaN where none is known.
    """
    if not subject.starts:
        return None
    any_image = next(iter(subject.starts.values()))
    starts = torch.full((len(labels), *any_image.shape), torch.nan, dtype=any_image.dtype, device=any_image.device)
    for row, number in enumerate((labels if targets is None else targets).tolist()):
        if targets is None:
            start = next((image for each, image in subject.starts.items() if each != number), None)
        else:
            start = subject.starts.get(number)
        if start is not None:
            starts[row] = start
    return starts


def _target(sample: Sample) -> int:
    if sample.target is None:
        raise Refusal(f"image {sample.number} has no target class", fix="name a data set with targets, or draw them")
    return sample.target


def _plain(norm: Norm) -> Norm:
    return Norm.L2 if norm is Norm.NORMALISED_L2 else norm


def _identity(
    run: BenchmarkRun, subject: Subject, samples: Sequence[Sample], settings: BenchmarkSettings
) -> dict[str, Any]:
    """Return the fields of the results that are known before: all that they depend on, but for the strengths."""
    attacks = {"by_budget": asdict(run.by_budget)} | (
        {"by_strength": asdict(run.by_strength)} if run.by_strength else {}
    )
    transfer = run.by_budget.knowledge is Knowledge.TRANSFER
    substitute = {"substitute": subject.substitute.digest} if transfer and subject.substitute else {}
    parameters = {
        **attacks,
        **substitute,
        "seed": settings.seed,
        "query_limit": settings.query_limit,
        "first_budget": settings.first_budgets[run.norm],
        "halvings": settings.halvings,
        "passes": subject.model.passes,
    }
    return {
        "threat_model": run.threat_model,
        "attack": run.by_budget.name,
        # as a file gives them back, with lists for tuples
        "parameters": json.loads(json.dumps(parameters)),
        "model": subject.model.name,
        "model_digest": subject.model.digest,
        "dataset": subject.dataset,
        "dataset_digest": dataset_digest(samples),
        "fixed_budget": settings.fixed_budgets[run.norm],
    }


def _stored(path: Path, expected: Mapping[str, Any]) -> Results | None:
    """Return what an earlier call left of this batch, if it is of the same run."""
    if not path.exists():
        return None
    try:
        found = decode(path.read_bytes())
    except Refusal:  # a disk that was full
        return None
    same = all(getattr(found, name) == value for name, value in expected.items())
    return found if same else None


def _write(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _padded(array: Any, columns: int, value: float) -> Any:
    return np.pad(array, ((0, 0), (0, columns - array.shape[1])), constant_values=value)
