"""Whole training runs, as small as they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from evaluation.baselines.shared.network import SmallResNet, as_input
from evaluation.baselines.shared.smoothed_classifier import SmoothedClassifier
from evaluation.domain.errors import DatasetRefusal, Refusal
from evaluation.training import train as train_module
from evaluation.training import training_loop
from evaluation.training.architectures import ARCHITECTURES
from evaluation.training.checkpoint import CHECKPOINT
from evaluation.training.recipes import (
    ADVERSARIAL,
    ATTACK_NETWORKS,
    ENSEMBLES,
    NETWORK_RECIPES,
    RANDOMISED_SMOOTHING,
    TRANSFER_RECIPES,
)
from evaluation.training.settings import NUMPY, Settings
from evaluation.training.target_classifiers import network_of
from evaluation.training.train import train
from evaluation.training.training_data import read_training_data
from evaluation.training.training_record import Progress, TrainingReport
from evaluation.training.weights import load_weights

MakeUp = Callable[..., str]


class Killed(BaseException):
    """Stands for the end of the process."""


def run(
    out: Path, dataset: str, recipe: str = "plain", *, kill_at: int | None = None, **options: Any
) -> TrainingReport:
    def progress(done: int, steps: int, text: str) -> None:
        if done == kill_at:
            raise Killed

    restart = options.pop("restart", False)
    given = {"epochs": 1, "robust_samples": 0} | ({} if recipe == NUMPY else {"batch": 4}) | options
    return train(Settings(recipe, dataset, **given), out, progress=progress, restart=restart)


def weights(out: Path) -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = load_file(out / "weights.safetensors")
    return state


def equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("recipe", [*NETWORK_RECIPES, *ENSEMBLES])
def test_every_recipe_ends_with_a_report_and_the_measured_weights(tmp_path: Path, made_up: MakeUp, recipe: str) -> None:
    seen: list[tuple[int, int]] = []
    progress: Progress = lambda done, steps, text: seen.append((done, steps))  # noqa: E731
    side = 64 if recipe == "noise" else 32  # its places in the network are those for 64
    settings = Settings(recipe, made_up(side), epochs=2, batch=4, steps=2 if recipe in ADVERSARIAL else None)
    report = train(settings, tmp_path / "new", progress=progress, command="gauntlet train")
    assert seen == [(done, 6) for done in range(1, 7)]
    written = json.loads((tmp_path / "new" / "training.json").read_text())
    assert written["settings"]["recipe"] == recipe
    assert written["settings"]["data_sha256"] == read_training_data(settings.dataset).sha256
    assert written["host"]["torch"] == torch.__version__
    assert report.validation_accuracy is not None
    assert 0 <= report.validation_accuracy <= 1
    assert report.robustness is not None
    assert report.robustness.samples == 6
    assert report.robustness.interval[0] <= report.robustness.median_l2 <= report.robustness.interval[1]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["training.json", "weights.safetensors"]


def test_a_network_for_smoothing_is_measured_by_its_votes(tmp_path: Path, made_up: MakeUp) -> None:
    dataset = made_up(32)
    report = run(tmp_path / "out", dataset, RANDOMISED_SMOOTHING, epochs=4)
    network = SmallResNet(3)
    load_weights(network, tmp_path / "out" / "weights.safetensors")
    data = read_training_data(dataset)
    with torch.inference_mode():
        votes = SmoothedClassifier(network.eval(), (3, 32, 32))(as_input(data.validation_images)).argmax(1).numpy()
    assert report.validation_accuracy == (votes == data.validation_labels).mean()


def test_accuracies_are_measured_on_images_of_all_classes(
    tmp_path: Path, made_up: MakeUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes take turns, so every third image has the first of three."""
    seen: list[list[int]] = []

    def measured(network: object, images: object, labels: NDArray[np.int64], device: object) -> float:
        seen.append(labels.tolist())
        return 1.0

    monkeypatch.setattr(train_module, "accuracy", measured)
    run(tmp_path, made_up(32, 18), validation_samples=2)
    assert [len(labels) for labels in seen] == [6, 2]
    assert [len(set(labels)) for labels in seen] == [3, 2]


@pytest.fixture
def few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves eight digits for training and four for validation."""
    whole = read_training_data("digits")
    few = replace(
        whole,
        images=whole.images[:8],
        labels=whole.labels[:8],
        validation_images=whole.validation_images[:4],
        validation_labels=whole.validation_labels[:4],
    )
    monkeypatch.setattr(train_module, "read_training_data", lambda dataset: few)


@pytest.mark.usefixtures("few_digits")
@pytest.mark.parametrize("recipe", TRANSFER_RECIPES)
def test_networks_of_the_transfer_format_are_measured_on_attacked_images(tmp_path: Path, recipe: str) -> None:
    network_of.cache_clear()
    report = run(tmp_path / "first", "digits", recipe, robust_samples=2)
    assert report.settings["arch"] == "unet"
    assert (report.validation_accuracy is None) is (report.robustness is None) is (recipe in ATTACK_NETWORKS)
    assert len(report.on_attacked_images) == (12 if recipe in ATTACK_NETWORKS else 8)
    assert all(0 <= share <= 1 for share in report.on_attacked_images.values())
    run(tmp_path / "second", "digits", recipe)
    assert equal(weights(tmp_path / "first"), weights(tmp_path / "second"))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_learns_in_every_precision_of_a_processor(
    tmp_path: Path, made_up: MakeUp, arch: str
) -> None:
    for precision in ("float32", "bfloat16"):
        report = run(tmp_path / precision, made_up(32, 4), arch=arch, precision=precision)
        assert all(tensor.dtype == torch.float16 for tensor in weights(tmp_path / precision).values())
        assert report.parameters == sum(tensor.numel() for tensor in weights(tmp_path / precision).values())


def test_a_perceptron_refuses_images_that_its_cells_do_not_cover(tmp_path: Path, made_up: MakeUp) -> None:
    with pytest.raises(Refusal, match="30 x 30 pixels") as caught:
        run(tmp_path / "out", made_up(30), NUMPY)
    assert "multiples of 4" in caught.value.fix


def test_it_learns(tmp_path: Path, made_up: MakeUp) -> None:
    report = run(tmp_path, made_up(), epochs=12)
    assert report.validation_accuracy == 1


def test_equal_seeds_give_equal_networks(tmp_path: Path, made_up: MakeUp) -> None:
    for name, seed in (("first", 3), ("again", 3), ("other", 4)):
        run(tmp_path / name, made_up(), "logit-pairing", seed=seed, steps=1)
    assert equal(weights(tmp_path / "first"), weights(tmp_path / "again"))
    assert not equal(weights(tmp_path / "first"), weights(tmp_path / "other"))


@pytest.mark.parametrize(("recipe", "arch"), [("noise", "small"), ("pgd", "small"), ("plain", "compact")])
def test_a_killed_run_continues_to_the_same_weights(
    tmp_path: Path, made_up: MakeUp, monkeypatch: pytest.MonkeyPatch, recipe: str, arch: str
) -> None:
    dataset = made_up()
    options: dict[str, Any] = {"arch": arch, "epochs": 2}
    run(tmp_path / "whole", dataset, recipe, **options)
    monkeypatch.setattr(training_loop, "CHECKPOINT_SECONDS", -1.0)
    for kill_at in (2, 5):
        with pytest.raises(Killed):
            run(tmp_path / "killed", dataset, recipe, kill_at=kill_at, **options)
        assert (tmp_path / "killed" / CHECKPOINT).exists()
    report = run(tmp_path / "killed", dataset, recipe, **options)
    assert report.continued == ""
    assert (tmp_path / "killed" / report.weights).read_bytes() == (tmp_path / "whole" / report.weights).read_bytes()


def test_a_run_with_other_options_does_not_continue_it(
    tmp_path: Path, made_up: MakeUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_loop, "CHECKPOINT_SECONDS", -1.0)
    dataset = made_up()
    with pytest.raises(Killed):
        run(tmp_path / "out", dataset, kill_at=2)
    with pytest.raises(Refusal, match="seed 0, now 1"):
        run(tmp_path / "out", dataset, seed=1)
    run(tmp_path / "out", dataset, seed=1, restart=True)
    run(tmp_path / "other", dataset, seed=1)
    assert equal(weights(tmp_path / "out"), weights(tmp_path / "other"))


def test_it_begins_with_given_weights(tmp_path: Path, made_up: MakeUp) -> None:
    dataset = made_up()
    before = run(tmp_path / "plain", dataset, epochs=12)
    start = tmp_path / "plain" / before.weights
    report = run(tmp_path / "robust", dataset, "trades", start=start, learning_rate=1e-6, steps=1)
    assert report.settings["start_sha256"] == before.weights_sha256
    learned, at_first = weights(tmp_path / "robust"), weights(tmp_path / "plain")
    assert all(torch.allclose(learned[name], at_first[name], atol=1e-3) for name in learned if "running" not in name)


def test_it_stops_when_the_loss_is_no_longer_finite(tmp_path: Path, made_up: MakeUp) -> None:
    with pytest.raises(Refusal, match="not finite") as refused:
        run(tmp_path, made_up(), learning_rate=1e30, epochs=8)
    assert "--learning-rate" in refused.value.fix
    assert not (tmp_path / "weights.safetensors").exists()


def test_equal_seeds_give_equal_perceptrons(tmp_path: Path) -> None:
    found = []
    for name in ("first", "again"):
        with np.load(tmp_path / name / run(tmp_path / name, "digits", "numpy").weights) as arrays:
            found.append(dict(arrays))
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"recipe": "magic"}, "magic"),
        ({"arch": "resnet19"}, "resnet19"),
        ({"epochs": 0}, "epochs is 0"),
        ({"learning_rate": float("nan")}, "nan"),
        ({"radius": 1.0}, "plain has no adversary"),
        ({"recipe": "trades-ensemble", "arch": "compact"}, "trades-ensemble has no compact"),
        ({"recipe": "attack-network", "dataset": "cifar10"}, "those of the digits alone"),
        ({"device": "toaster"}, "toaster"),
        ({"device": "meta"}, "meta"),
        ({"device": "cuda:99"}, "cuda:99"),
        ({"precision": "float8"}, "float8"),
        ({"precision": "float16"}, "GPU"),
        ({"start": Path("nowhere.safetensors")}, "nowhere"),
    ],
)
def test_it_rejects_what_it_does_not_have(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    settings = replace(Settings("plain", "digits"), **changes)
    with pytest.raises(Refusal, match=named) as refused:
        train(settings, tmp_path / "out", progress=lambda done, steps, text: None)
    assert refused.value.fix


def test_it_rejects_unknown_data(tmp_path: Path) -> None:
    with pytest.raises(DatasetRefusal):
        run(tmp_path, "letters")


def test_it_rejects_a_place_where_it_cannot_write(tmp_path: Path, made_up: MakeUp) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refusal, match="cannot write"):
        run(tmp_path / "file" / "out", made_up())


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("plain", {}),
        ("pgd", {"norm": "linf", "steps": 1}),
        ("logit-pairing", {"norm": "linf", "steps": 1}),
        ("ensemble-at", {"norm": "linf"}),
        ("adp", {}),
        ("rse", {}),
        ("deep-defense", {}),
    ],
)
def test_the_network_for_cifar_10_is_trained_by_its_recipes(
    tmp_path: Path, made_up: MakeUp, recipe: str, options: dict[str, Any]
) -> None:
    report = run(tmp_path, made_up(side=32), recipe, arch="cifar-resnet", **options)
    assert report.parameters == (3 if recipe == "adp" else 1) * 73_523
    assert report.validation_accuracy is not None


def test_the_network_for_cifar_10_has_a_form_with_feature_denoising(tmp_path: Path, made_up: MakeUp) -> None:
    report = run(tmp_path, made_up(side=32), "pgd", arch="cifar-denoising", norm="linf", steps=1)
    assert report.parameters == 73_523 + sum(width**2 + 4 * width for width in (32, 64))


def test_the_network_with_bounds_is_trained_by_the_recipe_convex(tmp_path: Path, made_up: MakeUp) -> None:
    report = run(tmp_path, made_up(side=32), "convex", arch="cifar-convex", norm="linf")
    assert report.parameters == 16 * (3 * 4 * 4 + 1) + 3 * (16 * 15 * 15 + 1)


@pytest.mark.parametrize(
    ("recipe", "options", "problem"),
    [
        ("convex", {"arch": "cifar-resnet", "norm": "linf"}, "--arch cifar-convex alone"),
        ("convex", {"arch": "cifar-convex"}, "bounds for L-inf"),
        ("convex", {"arch": "cifar-convex", "norm": "linf", "steps": 2}, "no gradient steps"),
        ("adp", {}, "has no small"),
        ("ensemble-at", {"arch": "cifar-denoising"}, "has no cifar-denoising"),
        ("noise", {"arch": "cifar-resnet"}, "has no --arch cifar-resnet"),
        ("plain", {"arch": "cifar-resnet"}, "32 x 32 x 3"),
        ("ddn", {"norm": "linf"}, "no adversary in L-inf"),
        ("pgd", {"norm": "l1"}, "unknown norm"),
    ],
)
def test_recipes_that_do_not_fit_are_refused(
    tmp_path: Path, made_up: MakeUp, recipe: str, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Refusal, match=problem):
        run(tmp_path, made_up(), recipe, **options)
