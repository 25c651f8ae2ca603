from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from evaluation.formats.curves.defences.input_transformations import (
    BitReduction,
    InputTransformation,
    Jpeg,
    RandMix,
    ResizeAndPad,
)

pytestmark = pytest.mark.usefixtures("seeded_torch")

Wrap = Callable[[nn.Module], InputTransformation]
WRAPS: list[Wrap] = [lambda network: Jpeg(network, 75), lambda network: BitReduction(network, 4), RandMix]


@pytest.fixture
def images() -> Tensor:
    """Two smooth images of 16 x 16 pixels."""
    return nn.functional.interpolate(torch.rand(2, 3, 4, 4), scale_factor=4, mode="bilinear")


@pytest.mark.parametrize("wrap", WRAPS, ids=["jpeg", "bit reduction", "randmix"])
def test_the_network_sees_changed_images_and_the_gradient_passes_unchanged(wrap: Wrap, images: Tensor) -> None:
    seen: list[Tensor] = []

    class Squares(nn.Module):
        def forward(self, given: Tensor) -> Tensor:
            seen.append(given.detach())
            return given.square().flatten(1)

    variable = images.clone().requires_grad_()
    wrap(Squares())(variable).sum().backward()
    assert not torch.equal(seen[0], images)
    assert variable.grad is not None
    assert torch.equal(variable.grad, 2 * seen[0])
    assert (seen[0] - images).abs().mean() < 0.2


def test_bits_are_reduced_to_the_levels(images: Tensor) -> None:
    changed = BitReduction(nn.Identity(), 4).transform(images)
    assert torch.equal(changed.mul(3).round() / 3, changed)


def test_randmix_leaves_a_few_colours(images: Tensor) -> None:
    changed = RandMix(nn.Identity(), colours=5).transform(images)
    assert [len(image.flatten(1).unique(dim=1).T) for image in changed] == [5, 5]


def test_resizing_and_padding_keeps_the_size_and_differs_from_call_to_call(images: Tensor) -> None:
    defence = ResizeAndPad(nn.Identity(), smallest=0.5)
    first, second = defence(images + 0.1), defence(images + 0.1)
    assert first.shape == images.shape
    assert not torch.equal(first, second)
