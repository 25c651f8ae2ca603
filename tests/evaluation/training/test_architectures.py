"""The networks that can be trained."""

from __future__ import annotations

import pytest
import torch

from evaluation.domain.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.training.architectures import ARCHITECTURES, build_network

SHAPE = ImageShape(64, 64, 3)


@pytest.mark.parametrize(
    ("arch", "weights"),
    [("small", 92_266), ("compact", 1_580_490), ("resnet18", 11_181_642), ("resnet50", 23_528_522)],
)
def test_a_network_has_its_number_of_weights_and_a_logit_for_each_class(arch: str, weights: int) -> None:
    network = build_network(arch, 10, 0.0, SHAPE).eval()
    assert network(torch.rand(2, 3, 64, 64)).shape == (2, 10)
    assert sum(parameter.numel() for parameter in network.parameters()) == weights


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_noise_is_frozen_after_training(arch: str) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = build_network(arch, 3, 0.5, SHAPE)
        images = torch.rand(4, 3, 64, 64)
        assert not torch.equal(network.train()(images), network(images))
        assert torch.equal(network.eval()(images), network(images))


def test_noise_of_a_residual_network_fits_other_images() -> None:
    network = build_network("resnet18", 3, 0.5, ImageShape(36, 36, 3)).eval()
    assert network(torch.rand(1, 3, 36, 36)).shape == (1, 3)


@pytest.mark.parametrize(
    ("arch", "shape", "named"),
    [("compact", ImageShape(32, 32, 3), "32"), ("resnet18", ImageShape(64, 64, 1), "64 x 64 x 1")],
)
def test_it_rejects_images_that_do_not_fit(arch: str, shape: ImageShape, named: str) -> None:
    with pytest.raises(Refusal, match=named):
        build_network(arch, 10, 0.5, shape)


@pytest.mark.parametrize("arch", ["small", "compact"])
def test_it_rejects_images_smaller_than_the_first_kernel(arch: str) -> None:
    with pytest.raises(Refusal, match="at least 4 x 4 pixels, these have 3 x 3") as refused:
        build_network(arch, 10, 0.0, ImageShape(3, 3, 3))
    assert refused.value.fix
    network = build_network(arch, 10, 0.0, ImageShape(4, 4, 3))
    halved = 2 if arch == "compact" else 4
    assert network(torch.rand(2, 3, halved, halved)).shape == (2, 10)
