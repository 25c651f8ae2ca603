"""Training run of `gauntlet train`."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import nn

from evaluation.baselines.shared.unet import UNet
from evaluation.domain.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.training import perceptron
from evaluation.training.architectures import ARCHITECTURES, build_network
from evaluation.training.checkpoint import Checkpoints, discard_checkpoint
from evaluation.training.measure import accuracy, robustness
from evaluation.training.precision import chosen_precision, open_device
from evaluation.training.recipes import ADVERSARIAL, NETWORK_RECIPES, TRANSFER_RECIPES, Recipe, recipe_for
from evaluation.training.report import Progress, TrainingReport, host
from evaluation.training.training_data import TrainingData, read_training_data
from evaluation.training.training_loop import THREADS, fit, seeded
from evaluation.training.transfer_measure import classifier_with, on_attacked_images
from evaluation.training.weights import WEIGHTS, load_weights, save_weights

RECIPES = (*NETWORK_RECIPES, *TRANSFER_RECIPES, "numpy")

MEASURED_RADIUS = 0.5
"""Radius of the robust accuracy of recipes without a radius of their own."""


@dataclass(frozen=True)
class Settings:
    """Options of a run; None stands for the recipe's own."""

    recipe: str
    dataset: str
    arch: str = "small"
    seed: int = 0
    device: str = "cpu"
    precision: str = "auto"
    epochs: int | None = None
    batch: int | None = None
    learning_rate: float | None = None
    radius: float | None = None
    steps: int | None = None
    start: Path | None = None
    """Weights to begin with, instead of random ones."""
    robust_samples: int = 200


def train(
    settings: Settings, out: Path, *, progress: Progress, command: str = "", restart: bool = False
) -> TrainingReport:
    """Train a model and write its weights and `training.json` into the folder `out`, created if necessary.

    A run that was killed continues from its last checkpoint, unless `restart`. Raise `Refusal` for an invalid option,
    `DatasetRefusal` for an unreadable data set.
    """
    _check(settings)
    device = open_device(settings.device)
    precision = chosen_precision(settings.precision, device)
    data = read_training_data(settings.dataset)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot write to {out}: {error.strerror}", fix="name another --out") from error
    if restart:
        discard_checkpoint(out)
    if settings.recipe == "numpy":
        report = _train_perceptron(data, settings, out, progress=progress, command=command)
    else:
        report = _train_network(data, settings, out, device, precision, progress=progress, command=command)
    report.write(out)
    discard_checkpoint(out)
    return report


def _train_network(
    data: TrainingData,
    settings: Settings,
    out: Path,
    device: torch.device,
    precision: str,
    *,
    progress: Progress,
    command: str,
) -> TrainingReport:
    recipe = _recipe(settings)
    decide = {
        "recipe": settings.recipe,
        "arch": "unet" if settings.recipe in TRANSFER_RECIPES else settings.arch,
        "dataset": settings.dataset.partition(":")[0],
        "data_sha256": data.sha256,
        "seed": settings.seed,
        "precision": precision,
        "start_sha256": _sha256(settings.start) if settings.start else None,
        **asdict(recipe),
    }
    here = host(device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu", threads=THREADS)
    with seeded(settings.seed):
        network = _network(settings, data, recipe)
        if settings.start is not None:
            load_weights(network, settings.start)
        fitted = fit(
            network,
            data,
            recipe,
            seed=settings.seed,
            device=device,
            precision=precision,
            checkpoints=Checkpoints(out, settings=decide, host=here),
            progress=progress,
        )
        parameters = save_weights(network, out)
        load_weights(network, out / WEIGHTS)  # what is measured is what was written
        network.eval()
        held_out = data.validation_images, data.validation_labels
        spread = slice(None, None, max(1, len(data.labels) // len(held_out[1])))
        trained = data.images[spread], data.labels[spread]
        classifier = classifier_with(settings.recipe, network, device)
        robust = slice(settings.robust_samples)
        return TrainingReport(
            command=command,
            settings=decide,
            host=here,
            parameters=parameters,
            train_accuracy=accuracy(classifier, *trained, device) if classifier else None,
            validation_accuracy=accuracy(classifier, *held_out, device) if classifier else None,
            validation_images=len(held_out[1]),
            robustness=robustness(
                classifier,
                held_out[0][robust],
                held_out[1][robust],
                device,
                radius=settings.radius or MEASURED_RADIUS,
            )
            if settings.robust_samples and classifier
            else None,
            seconds=round(fitted.seconds, 1),
            continued=fitted.moved,
            weights=WEIGHTS,
            weights_sha256=_sha256(out / WEIGHTS),
            on_attacked_images=on_attacked_images(settings.recipe, network, *held_out, device)
            if settings.recipe in TRANSFER_RECIPES
            else {},
        )


def _network(settings: Settings, data: TrainingData, recipe: Recipe) -> nn.Module:
    if settings.recipe in TRANSFER_RECIPES:
        return UNet()
    shape = ImageShape(*data.images.shape[1:])
    return build_network(settings.arch, data.classes, recipe.noise_level, shape)


def _train_perceptron(
    data: TrainingData, settings: Settings, out: Path, *, progress: Progress, command: str
) -> TrainingReport:
    rounds = settings.epochs or perceptron.EPOCHS
    weights = perceptron.train_perceptron(data, seed=settings.seed, epochs=rounds, progress=progress)
    return TrainingReport(
        command=command,
        settings={
            "recipe": "numpy",
            "arch": "perceptron",
            "dataset": settings.dataset.partition(":")[0],
            "data_sha256": data.sha256,
            "seed": settings.seed,
            "epochs": rounds,
        },
        host=host(device="cpu", threads=1),
        parameters=perceptron.save_perceptron(weights, out),
        train_accuracy=perceptron.accuracy(weights, data.images, data.labels),
        validation_accuracy=perceptron.accuracy(weights, data.validation_images, data.validation_labels),
        validation_images=len(data.validation_labels),
        robustness=None,
        seconds=0.0,
        continued="",
        weights=perceptron.WEIGHTS,
        weights_sha256=_sha256(out / perceptron.WEIGHTS),
    )


def _recipe(settings: Settings) -> Recipe:
    """Return the recipe with the options that were given."""
    recipe = recipe_for(settings.recipe, settings.arch, radius=settings.radius, steps=settings.steps)
    given = {name: getattr(settings, name) for name in ("epochs", "batch", "learning_rate")}
    return replace(recipe, **{name: value for name, value in given.items() if value is not None})


def _check(settings: Settings) -> None:
    if settings.recipe not in RECIPES:
        raise Refusal(f"unknown recipe {settings.recipe!r}", fix=f"choose one of {', '.join(RECIPES)}")
    if settings.recipe in TRANSFER_RECIPES and settings.dataset != "digits":
        raise Refusal(
            f"the recipe {settings.recipe} needs trained classifiers, and has those of the digits alone",
            fix="use --dataset digits",
        )
    if settings.arch not in ARCHITECTURES:
        raise Refusal(f"unknown architecture {settings.arch!r}", fix=f"choose one of {', '.join(ARCHITECTURES)}")
    for name in ("epochs", "batch", "learning_rate", "radius", "steps"):
        value = getattr(settings, name)
        if value is not None and not value > 0:
            raise Refusal(f"{name.replace('_', ' ')} is {value}", fix="use a positive number")
    if settings.recipe not in ADVERSARIAL and (settings.radius or settings.steps):
        raise Refusal(
            f"the recipe {settings.recipe} has no adversary", fix=f"use one of {', '.join(ADVERSARIAL)}, or no --radius"
        )


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror}", fix="name a file of weights") from error
