"""Training run of `gauntlet train`."""

from __future__ import annotations

from pathlib import Path

import torch

from evaluation.domain.errors import Refusal
from evaluation.training import networks, perceptron
from evaluation.training.report import Progress, TrainingReport
from evaluation.training.training_data import TrainingData, read_training_data

RECIPES = ("plain", "adversarial", "noise", "numpy")
ARCHS = ("small", "resnet18", "resnet50")


def train(
    *,
    recipe: str,
    dataset: str,
    out: Path,
    seed: int,
    device: str,
    epochs: int | None,
    progress: Progress,
    arch: str = "small",
) -> TrainingReport:
    """Train a model and write its weights and `training.json` into the folder `out`, created if necessary.

    With `epochs` None the recipe's number applies. Raise `Refusal` for an invalid recipe, architecture, device or
    number of epochs, `DatasetRefusal` for an unreadable data set.
    """
    _check(recipe, arch, device, epochs)
    data = read_training_data(dataset)
    out.mkdir(parents=True, exist_ok=True)
    if recipe == "numpy":
        report = _train_perceptron(data, out, dataset=dataset, seed=seed, epochs=epochs, progress=progress)
    else:
        chosen = (networks.small_recipe if arch == "small" else networks.large_recipe)(recipe)
        rounds = epochs or chosen.epochs
        network = networks.train_network(
            data, chosen, arch=arch, seed=seed, device=device, epochs=rounds, progress=progress
        )
        report = TrainingReport(
            recipe=recipe,
            arch=arch,
            dataset=dataset,
            seed=seed,
            device=device,
            epochs=rounds,
            parameters=networks.save_network(network, out),
            train_accuracy=networks.accuracy(network, data.images, data.labels),
            validation_accuracy=networks.accuracy(network, data.validation_images, data.validation_labels),
            weights=networks.WEIGHTS,
        )
    report.write(out)
    return report


def _train_perceptron(
    data: TrainingData, out: Path, *, dataset: str, seed: int, epochs: int | None, progress: Progress
) -> TrainingReport:
    rounds = epochs or perceptron.EPOCHS
    weights = perceptron.train_perceptron(data, seed=seed, epochs=rounds, progress=progress)
    return TrainingReport(
        recipe="numpy",
        arch="perceptron",
        dataset=dataset,
        seed=seed,
        device="cpu",
        epochs=rounds,
        parameters=perceptron.save_perceptron(weights, out),
        train_accuracy=perceptron.accuracy(weights, data.images, data.labels),
        validation_accuracy=perceptron.accuracy(weights, data.validation_images, data.validation_labels),
        weights=perceptron.WEIGHTS,
    )


def _check(recipe: str, arch: str, device: str, epochs: int | None) -> None:
    if recipe not in RECIPES:
        raise Refusal(f"unknown recipe {recipe!r}", fix=f"choose one of {', '.join(RECIPES)}")
    if arch not in ARCHS:
        raise Refusal(f"unknown architecture {arch!r}", fix=f"choose one of {', '.join(ARCHS)}")
    if epochs is not None and epochs < 1:
        raise Refusal(f"{epochs} epochs are not enough", fix="train for at least 1 epoch")
    try:
        torch_device = torch.device(device)
    except RuntimeError as error:
        raise Refusal(f"unknown device {device!r}", fix="use cpu, cuda or cuda:0") from error
    if torch_device.type == "cuda" and not torch.cuda.is_available():
        raise Refusal("this host has no CUDA device that torch can use", fix="use --device cpu")
