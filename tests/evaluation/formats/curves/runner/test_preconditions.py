"""Data sets and models that are not as the results would say are refused before a benchmark begins."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from evaluation.domain.errors import Refusal
from evaluation.domain.samples import Sample
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.runner.preconditions import require_model, require_samples

GREY = np.full((4, 4, 3), 128, np.uint8)


def test_images_of_one_shape_with_labels_of_the_classes_are_accepted() -> None:
    require_samples([Sample(0, GREY, 0), Sample(1, GREY, 2, 1)], 3)


@pytest.mark.parametrize(
    ("sample", "problem"),
    [
        (Sample(7, GREY[:3], 0), r"image 7 is uint8 \(3, 4, 3\), not uint8 \(4, 4, 3\) as the first"),
        (Sample(7, GREY.astype(np.float32) / 255, 0), "image 7 is float32"),  # type: ignore[arg-type]
        (Sample(7, GREY, 3), "image 7 has the label 3, and the classes are 0 to 2"),
        (Sample(7, GREY, -1), "the label -1"),
        (Sample(7, GREY, 0, 5), "the target 5"),
    ],
)
def test_other_images_and_labels_are_refused(sample: Sample, problem: str) -> None:
    with pytest.raises(Refusal, match=problem):
        require_samples([Sample(0, GREY, 0), sample], 3)


class Noisy(nn.Module):
    """Its scores are drawn for each image."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.randn(len(images), 3)


def test_a_random_model_that_does_not_say_so_is_refused() -> None:
    samples = [Sample(number, GREY, 0) for number in range(30)]
    with pytest.raises(Refusal, match="network is random, and does not say so: 20 of 20 images") as refused:
        require_model(NetworkClassifier(Noisy(), 3), samples)
    assert "RANDOM = True" in refused.value.fix
    require_model(NetworkClassifier(Noisy(), 3, random=True), samples)


def test_a_model_of_other_images_is_refused() -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
    with pytest.raises(Refusal, match=r"network fails on images of shape \(3, 4, 4\): mat1 and mat2 shapes") as refused:
        require_model(NetworkClassifier(network, 3), [Sample(0, GREY, 0)])
    assert "the data set that it is for" in refused.value.fix


class InPlace(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images.sub_(0.5).flatten(1)[:, :3]


def test_a_model_that_changes_the_images_it_is_given_is_refused() -> None:
    with pytest.raises(Refusal, match="network changes the images that it is given") as refused:
        require_model(NetworkClassifier(InPlace(), 3, random=True), [Sample(0, GREY, 0)])
    assert "copy" in refused.value.fix


class Detached(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images.detach().flatten(1)[:, :3]


class Constant(nn.Module):
    """A network with parameters that does not look at the images."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, images: Tensor) -> Tensor:
        return self.bias.detach().requires_grad_().expand(len(images), 3)


class Undefined(nn.Module):
    """The derivative of the root at 0 is infinite, and times 0 it is no number."""

    def forward(self, images: Tensor) -> Tensor:
        return (images.flatten(1)[:, :3] * 0.0).sqrt()


@pytest.mark.parametrize(
    ("network", "problem"),
    [(Detached(), "is not differentiable"), (Constant(), "is not differentiable"), (Undefined(), "is no number")],
)
def test_a_model_without_a_gradient_is_refused_by_white_box_attacks(network: nn.Module, problem: str) -> None:
    with pytest.raises(Refusal, match=problem) as refused:
        NetworkClassifier(network, 3).gradient(torch.zeros(2, 3, 2, 2), lambda logits: logits[:, 0])
    assert "BPDA" in refused.value.fix
