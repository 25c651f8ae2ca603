"""Training run of `gauntlet train`."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from evaluation.baselines.shared.hinted_unet import HintedUNet
from evaluation.baselines.shared.lite_network import SIDE
from evaluation.baselines.shared.scaled_lite_network import VARIANTS, imagenet_classifier
from evaluation.baselines.shared.smoothed_classifier import SmoothedClassifier
from evaluation.baselines.shared.unet import UNet
from evaluation.baselines.shared.weighted_ensemble import WEIGHTS as MEMBER_WEIGHTS
from evaluation.baselines.shared.weighted_ensemble import WeightedEnsemble
from evaluation.domain.errors import Refusal
from evaluation.domain.images import Images, ImageShape
from evaluation.training import linear_head_training
from evaluation.training.architectures import ARCHITECTURES, build_network, check_side, cifar_network
from evaluation.training.checkpoint import Checkpoints, discard_checkpoint
from evaluation.training.measure import accuracy, robustness
from evaluation.training.perceptron_run import train_numpy
from evaluation.training.precision import chosen_precision, open_device
from evaluation.training.recipes import (
    ADVERSARIAL,
    CIFAR_ARCHITECTURES,
    CIFAR_CONVEX,
    CIFAR_RECIPES,
    CIFAR_RESNET,
    CONVEX,
    ENSEMBLES,
    HINTED_ATTACK_NETWORK,
    LINF_RECIPES,
    NETWORK_RECIPES,
    RANDOMISED_SMOOTHING,
    RSE,
    SMALL_RECIPES,
    TRANSFER_RECIPES,
    TrainingRecipe,
    recipe_for,
)
from evaluation.training.settings import NUMPY, Settings, decisive, make_folder, sha256_of
from evaluation.training.target_classifiers import hint_source, network_of
from evaluation.training.training_data import Labels, TrainingData, read_training_data
from evaluation.training.training_loop import THREADS, fit, seeded
from evaluation.training.training_record import Progress, TrainingReport, host
from evaluation.training.transfer_measure import classifier_with, on_attacked_images
from evaluation.training.weights import WEIGHTS, load_weights, save_weights

RECIPES = (
    *NETWORK_RECIPES,
    *SMALL_RECIPES,
    *CIFAR_RECIPES,
    CONVEX,
    *TRANSFER_RECIPES,
    *linear_head_training.HEAD_RECIPES,
    NUMPY,
)

MEASURED_RADIUS = 0.5
"""Radius of the robust accuracy of recipes without a radius of their own."""


def train(
    settings: Settings, out: Path, *, progress: Progress, command: str = "", restart: bool = False
) -> TrainingReport:
    """Train a model and write its weights and `training.json` into the folder `out`, created if necessary.

    A run that was killed continues from its last checkpoint, unless `restart`. Raise `Refusal` for an invalid option,
    `DatasetRefusal` for an unreadable data set.
    """
    _check(settings)
    if settings.recipe == NUMPY:
        return train_numpy(settings, out, progress=progress, command=command)
    device = open_device(settings.device)
    precision = chosen_precision(settings.precision, device)
    data = read_training_data(settings.dataset)
    make_folder(out)
    if restart:
        discard_checkpoint(out)
    if settings.recipe in linear_head_training.HEAD_RECIPES:
        report = _train_head(data, settings, out, device, progress=progress, command=command)
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
    decide = decisive(data, settings, _arch(settings)) | {
        "precision": precision,
        "start_sha256": sha256_of(settings.start) if settings.start else None,
        **asdict(recipe),
    }
    here = _host(device)
    with seeded(settings.seed):
        network = _network(settings, data, recipe, device)
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
        return _measured(
            _classifier(settings.recipe, network, data, device),
            network,
            data,
            settings,
            out,
            device,
            command=command,
            decide=decide,
            seconds=fitted.seconds,
            continued=fitted.moved,
        )


def _train_head(
    data: TrainingData, settings: Settings, out: Path, device: torch.device, *, progress: Progress, command: str
) -> TrainingReport:
    if linear_head_training.smoothing(settings.arch):
        check_side(settings.arch, ImageShape(*data.images.shape[1:]))
    iterations = settings.epochs or linear_head_training.ITERATIONS
    places = linear_head_training.first_of_each_class(data.labels, settings.images_per_class)
    images = len(places)
    decide = decisive(data, settings, _arch(settings)) | {
        "images": images,
        "side": SIDE,
        "smoothing": linear_head_training.smoothing(settings.arch),
        "iterations": iterations,
        "weight_decay": linear_head_training.WEIGHT_DECAY,
    }
    steps = images + iterations  # an iteration looks at all features, and takes less than an image
    with seeded(settings.seed):
        network = linear_head_training.pretrained(settings.arch, data.classes)
        features = linear_head_training.extract(
            network,
            data.images,
            places,
            device=device,
            checkpoints=Checkpoints(out, settings=decide, host=_host(device)),
            progress=lambda done, _, text: progress(done, steps, text),
        )
        fitting = time.monotonic()
        labels = torch.from_numpy(data.labels[places]).to(device)
        values = features.values.to(device)
        start = None
        if settings.recipe == linear_head_training.ADAPTED_HEAD:
            classifier = imagenet_classifier(settings.arch).to(device)
            start = linear_head_training.nearest_rows(classifier, values, labels, data.classes)
        linear_head_training.fit_head(
            network.head,
            values,
            labels,
            iterations=iterations,
            progress=lambda done, _, text: progress(images + done, steps, text),
            start=start,
        )
        return _measured(
            network,
            network.head,
            data,
            settings,
            out,
            device,
            command=command,
            decide=decide,
            seconds=features.seconds + time.monotonic() - fitting,
            continued=features.moved,
            train_accuracy=linear_head_training.accuracy(network.head, features.values, data.labels[places]),
        )


def _network(settings: Settings, data: TrainingData, recipe: TrainingRecipe, device: torch.device) -> nn.Module:
    if settings.recipe == HINTED_ATTACK_NETWORK:
        return HintedUNet(network_of(hint_source(), device))
    if settings.recipe in TRANSFER_RECIPES:
        return UNet()
    shape = ImageShape(*data.images.shape[1:])
    if settings.arch in CIFAR_ARCHITECTURES:
        return cifar_network(settings.recipe, settings.arch, data.classes, shape)
    if settings.recipe in ENSEMBLES:
        return WeightedEnsemble(build_network(settings.arch, data.classes, 0.0, shape) for _ in MEMBER_WEIGHTS)
    return build_network(settings.arch, data.classes, recipe.noise_level, shape)


def _classifier(recipe: str, network: nn.Module, data: TrainingData, device: torch.device) -> nn.Module | None:
    """Return the classifier that is measured, if the network is one or part of one."""
    if recipe == RANDOMISED_SMOOTHING:
        height, width, channels = data.images.shape[1:]
        return SmoothedClassifier(network, (channels, height, width)).to(device)
    return classifier_with(recipe, network, device)


def _measured(
    classifier: nn.Module | None,
    learned: nn.Module,
    data: TrainingData,
    settings: Settings,
    out: Path,
    device: torch.device,
    *,
    command: str,
    decide: dict[str, object],
    seconds: float,
    continued: str,
    train_accuracy: float | None = None,
) -> TrainingReport:
    """Write the weights of `learned` and return the report.

    `classifier` is what it is part of or all of; None for an attack network, which labels nothing.
    """
    parameters = save_weights(learned, out)
    load_weights(learned, out / WEIGHTS)  # what is measured is what was written
    learned.eval()
    if classifier is not None:
        classifier.eval()
        if train_accuracy is None:
            train_accuracy = accuracy(classifier, *_as_many(data), device)
    robust = slice(settings.robust_samples)
    measured = _measured_places(data, settings)
    held_out = data.validation_images[measured], data.validation_labels[measured]
    return TrainingReport(
        command=command,
        settings=decide,
        host=_host(device),
        parameters=parameters,
        train_accuracy=train_accuracy,
        validation_accuracy=accuracy(classifier, *held_out, device) if classifier else None,
        validation_images=len(held_out[1]),
        robustness=robustness(
            classifier,
            data.validation_images[robust],
            data.validation_labels[robust],
            device,
            radius=settings.radius if settings.radius and settings.norm == "l2" else MEASURED_RADIUS,
        )
        if settings.robust_samples and classifier
        else None,
        seconds=round(seconds, 1),
        continued=continued,
        weights=WEIGHTS,
        weights_sha256=sha256_of(out / WEIGHTS),
        on_attacked_images=on_attacked_images(settings.recipe, learned, *held_out, device)
        if settings.recipe in TRANSFER_RECIPES
        else {},
    )


def _measured_places(data: TrainingData, settings: Settings) -> NDArray[np.int64]:
    """Return the places of the validation images on which accuracies are measured."""
    count = len(data.validation_labels)
    return _drawn(count, min(settings.validation_samples or count, count))


def _as_many(data: TrainingData) -> tuple[Images, Labels]:
    """Return as many training images as there are validation images, and their labels."""
    places = _drawn(len(data.labels), min(len(data.labels), len(data.validation_labels)))
    return data.images[places], data.labels[places]


def _drawn(count: int, wanted: int) -> NDArray[np.int64]:
    """Return `wanted` of `count` places, the same in each run.

    They are drawn: classes take turns in many data sets, and every tenth of their images shows few classes.
    """
    return np.sort(np.random.default_rng(0).choice(count, wanted, replace=False))


def _arch(settings: Settings) -> str:
    return "unet" if settings.recipe in TRANSFER_RECIPES else settings.arch


def _host(device: torch.device) -> dict[str, object]:
    return host(device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu", threads=THREADS)


def _recipe(settings: Settings) -> TrainingRecipe:
    """Return the recipe with the options that were given."""
    recipe = recipe_for(
        settings.recipe, settings.arch, radius=settings.radius, steps=settings.steps, norm=settings.norm
    )
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
    known = (*ARCHITECTURES, *CIFAR_ARCHITECTURES, *linear_head_training.FROZEN)
    if settings.arch not in known:
        raise Refusal(f"unknown architecture {settings.arch!r}", fix=f"choose one of {', '.join(known)}")
    for name in ("epochs", "batch", "learning_rate", "radius", "steps", "images_per_class", "validation_samples"):
        value = getattr(settings, name)
        if value is not None and not value > 0:
            raise Refusal(f"{name.replace('_', ' ')} is {value}", fix="use a positive number")
    if settings.recipe == CONVEX and settings.steps:
        raise Refusal(f"the recipe {CONVEX} has no gradient steps", fix="leave out --steps")
    if settings.recipe not in (*ADVERSARIAL, CONVEX) and (settings.radius or settings.steps):
        raise Refusal(
            f"the recipe {settings.recipe} has no adversary",
            fix=f"use one of {', '.join((*ADVERSARIAL, CONVEX))}, or no --radius",
        )
    if settings.recipe in SMALL_RECIPES and settings.arch != "small":
        raise Refusal(f"the recipe {settings.recipe} has no {settings.arch}", fix="add --arch small, or leave it out")
    _check_norm(settings)
    _check_cifar(settings)
    _check_head(settings)


def _check_norm(settings: Settings) -> None:
    """Raise `Refusal` unless the recipe bounds changes in the norm."""
    if settings.norm not in ("l2", "linf"):
        raise Refusal(f"unknown norm {settings.norm!r}", fix="use l2 or linf")
    if settings.norm == "linf" and settings.recipe not in LINF_RECIPES:
        raise Refusal(
            f"the recipe {settings.recipe} has no adversary in L-inf", fix=f"use one of {', '.join(LINF_RECIPES)}"
        )


def _check_cifar(settings: Settings) -> None:
    """Raise `Refusal` unless the recipe and the architecture for CIFAR-10 fit."""
    if settings.recipe in CIFAR_RECIPES and settings.arch != CIFAR_RESNET:
        raise Refusal(f"the recipe {settings.recipe} has no {settings.arch}", fix=f"add --arch {CIFAR_RESNET}")
    if settings.recipe == CONVEX and (settings.arch, settings.norm) != (CIFAR_CONVEX, "linf"):
        raise Refusal(
            f"the recipe {CONVEX} has bounds for L-inf and --arch {CIFAR_CONVEX} alone",
            fix=f"add --arch {CIFAR_CONVEX} --norm linf",
        )
    if settings.recipe == "noise" and settings.arch in CIFAR_ARCHITECTURES:
        raise Refusal(f"the recipe noise has no --arch {settings.arch}", fix=f"use the recipe {RSE}")


def _check_head(settings: Settings) -> None:
    """Raise `Refusal` unless the recipe of heads, its network and its options are together."""
    recipe, frozen = settings.recipe, linear_head_training.FROZEN
    if recipe not in linear_head_training.HEAD_RECIPES:
        if settings.arch in frozen:
            fix = f"use the recipe {linear_head_training.HEAD}, or another --arch"
            raise Refusal(f"the features of {settings.arch} are frozen", fix=fix)
        if settings.images_per_class:
            raise Refusal(f"the recipe {recipe} uses all images", fix="leave out --images-per-class")
        return
    fitting = tuple(VARIANTS) if recipe == linear_head_training.ADAPTED_HEAD else frozen
    if settings.arch not in fitting:
        fix = f"add --arch with one of {', '.join(fitting)}"
        raise Refusal(f"the recipe {recipe} has no features of {settings.arch}", fix=fix)
    for name in ("batch", "learning_rate", "start"):
        if getattr(settings, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise Refusal(f"the recipe {recipe} has no {option}", fix=f"leave out {option}")
    if settings.precision not in ("auto", "float32"):
        raise Refusal(f"the recipe {recipe} has no --precision {settings.precision}", fix="leave out --precision")
