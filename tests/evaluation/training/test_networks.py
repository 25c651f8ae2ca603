"""The networks and what trains them, piece by piece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation.baselines.shared.network import SmallResNet, load_network, predict_labels
from evaluation.training.adversary import l2_pgd
from evaluation.training.augmentation import Augmentation
from evaluation.training.networks import build_network, one_cycle, save_network


@pytest.mark.parametrize(("arch", "weights"), [("small", 92_266), ("resnet18", 11_181_642), ("resnet50", 23_528_522)])
def test_it_works(arch: str, weights: int) -> None:
    network = build_network(arch, 10, 0.0).eval()
    assert network(torch.rand(2, 3, 64, 64)).shape == (2, 10)
    assert sum(parameter.numel() for parameter in network.parameters()) == weights


def test_frozen_noise_is_frozen_after_training() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = SmallResNet(noise_level=0.5)
        images = torch.rand(4, 3, 64, 64)
        assert not torch.equal(network.train()(images), network(images))
        assert torch.equal(network.eval()(images), network(images))


@pytest.mark.parametrize("noise_level", [0.0, 0.5])
def test_saved_networks_come_back_the_same(tmp_path: Path, noise_level: float) -> None:
    network = SmallResNet(classes=7, noise_level=noise_level).eval()
    save_network(network, tmp_path)
    images = np.random.default_rng(0).integers(0, 256, (5, 64, 64, 3), dtype=np.uint8)
    again = load_network(tmp_path / "weights.safetensors", noise_level=noise_level)
    assert np.array_equal(predict_labels(network, images), predict_labels(again, images))


def test_the_adversary_stays_in_its_ball_and_raises_the_loss() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = SmallResNet().train()
        images, labels = torch.rand(6, 3, 64, 64), torch.arange(6)
        perturbed = l2_pgd(network, images, labels, radius=2.0, steps=5)
        assert network.training
        assert float((perturbed - images).flatten(1).norm(dim=1).max()) <= 2.0 + 1e-4
        assert 0 <= float(perturbed.min()) <= float(perturbed.max()) <= 1
        network.eval()
        loss = torch.nn.functional.cross_entropy
        with torch.no_grad():
            assert float(loss(network(perturbed), labels)) > float(loss(network(images), labels))


def test_no_augmentation_changes_nothing() -> None:
    images = torch.rand(3, 3, 64, 64)
    assert torch.allclose(Augmentation(shift=0, turn=0, scale=0)(images), images, atol=1e-5)


def test_augmentation_keeps_the_range() -> None:
    moved = Augmentation(mirror=True)(torch.rand(3, 3, 64, 64))
    assert moved.shape == (3, 3, 64, 64)
    assert 0 <= float(moved.min()) <= float(moved.max()) <= 1


def test_the_learning_rate_rises_and_falls() -> None:
    assert one_cycle(0.0) < one_cycle(0.1) < one_cycle(0.2) == pytest.approx(1)
    assert one_cycle(0.5) > one_cycle(0.99) > 0
