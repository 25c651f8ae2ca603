"""The white-box reference on a linear model, whose nearest adversarial is known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from evaluation.baselines.shared import scaled_lite_network
from evaluation.domain.samples import Sample
from evaluation.training.white_box_reference import nearest_whole_levels, network_in

SHAPE = (16, 16, 3)
FAR = 0.4
"""L2 from the clean image to the boundary."""


def linear_network(image: np.ndarray) -> tuple[nn.Module, np.ndarray]:
    """A model with two labels, and its unit normal: label 1 at FAR or more from the image."""
    normal = np.random.default_rng(0).standard_normal(SHAPE)
    normal /= np.linalg.norm(normal)
    weights = torch.from_numpy(np.moveaxis(normal, -1, 0).ravel().astype(np.float32))
    layer = nn.Linear(weights.numel(), 2)
    with torch.no_grad():
        layer.weight.copy_(torch.stack([-weights, weights]))
        offset = float(np.vdot(normal, image / 255)) + FAR
        layer.bias.copy_(torch.tensor([offset, -offset]))
    return nn.Sequential(nn.Flatten(), layer).eval(), normal


def test_it_is_the_distance_of_an_image_of_whole_levels_near_the_optimum() -> None:
    image = np.random.default_rng(1).integers(110, 146, SHAPE, np.uint8)
    model, _ = linear_network(image)
    (found,) = nearest_whole_levels(model, [Sample(0, image, label=0)])
    assert FAR <= found < 1.1 * FAR
    assert math.isclose((found * 255) ** 2, round((found * 255) ** 2), rel_tol=1e-9), "squares of whole levels"


def test_an_image_that_is_labelled_wrong_has_distance_0() -> None:
    image = np.full(SHAPE, 128, np.uint8)
    model, _ = linear_network(image)
    assert nearest_whole_levels(model, [Sample(0, image, label=1)]).tolist() == [0.0]


def test_networks_of_packages_have_the_names_of_their_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(scaled_lite_network, "load_network", lambda name, weights: asked.append((name, weights)))
    for name in scaled_lite_network.VARIANTS:
        network_in(tmp_path / name)
    assert asked == [(name, tmp_path / name / "weights.safetensors") for name in scaled_lite_network.VARIANTS]
    assert network_in(tmp_path) is None
