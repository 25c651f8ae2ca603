"""Training run of the recipe numpy, which needs no torch."""

from __future__ import annotations

from pathlib import Path

from evaluation.domain.errors import Refusal
from evaluation.training import perceptron
from evaluation.training.settings import NUMPY, Settings, decisive, make_folder, sha256_of
from evaluation.training.training_data import read_training_data
from evaluation.training.training_record import Progress, TrainingReport, host

_OF_NETWORKS = ("arch", "device", "precision", "batch", "learning_rate", "radius", "steps", "norm", "start")
"""Options that the recipe does not have. Those of measurements change nothing."""


def train_numpy(settings: Settings, out: Path, *, progress: Progress, command: str = "") -> TrainingReport:
    """Train the perceptron and write its weights and `training.json` into the folder `out`, created if necessary.

    Raise `Refusal` for an option that the recipe does not have or images that do not fit, `DatasetRefusal` for an
    unreadable data set.
    """
    for name in (*_OF_NETWORKS, "images_per_class"):
        if getattr(settings, name) != getattr(Settings, name):
            option = f"--{name.replace('_', '-')}"
            raise Refusal(f"the recipe {NUMPY} has no {option}", fix=f"leave out {option}")
    data = read_training_data(settings.dataset)
    height, width = data.images.shape[1:3]
    if height % perceptron.POOL or width % perceptron.POOL:
        raise Refusal(
            f"the images have {height} x {width} pixels, and the recipe {NUMPY} takes the means of {perceptron.POOL} x "
            f"{perceptron.POOL}",
            fix=f"use images whose sides are multiples of {perceptron.POOL}, or another recipe",
        )
    make_folder(out)
    rounds = settings.epochs or perceptron.EPOCHS
    weights = perceptron.train_perceptron(data, seed=settings.seed, epochs=rounds, progress=progress)
    report = TrainingReport(
        command=command,
        settings=decisive(data, settings, "perceptron") | {"epochs": rounds},
        host=host(device="cpu", threads=1, libraries=("numpy",)),
        parameters=perceptron.save_perceptron(weights, out),
        train_accuracy=perceptron.accuracy(weights, data.images, data.labels),
        validation_accuracy=perceptron.accuracy(weights, data.validation_images, data.validation_labels),
        validation_images=len(data.validation_labels),
        robustness=None,
        seconds=0.0,
        continued="",
        weights=perceptron.WEIGHTS,
        weights_sha256=sha256_of(out / perceptron.WEIGHTS),
    )
    report.write(out)
    return report
