"""Weights in half precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation.baselines.shared.network import CompactResNet, SmallResNet, load_network, predict_labels
from evaluation.domain.errors import Refusal
from evaluation.training.weights import WEIGHTS, load_weights, save_weights


@pytest.mark.parametrize("architecture", [SmallResNet, CompactResNet])
@pytest.mark.parametrize("noise_level", [0.0, 0.5])
def test_written_weights_give_the_same_labels_and_the_same_file_again(
    tmp_path: Path, architecture: type[SmallResNet | CompactResNet], noise_level: float
) -> None:
    """The network of a submission is the one that was written: rounded, and no longer changed by a second writing."""
    network = architecture(classes=7, noise_level=noise_level).eval()
    values = save_weights(network, tmp_path)
    assert (tmp_path / WEIGHTS).stat().st_size < 2 * values + 10_000
    load_weights(network, tmp_path / WEIGHTS)
    images = np.random.default_rng(0).integers(0, 256, (5, 64, 64, 3), dtype=np.uint8)
    again = load_network(tmp_path / WEIGHTS, noise_level=noise_level)
    assert type(again) is architecture
    assert np.array_equal(predict_labels(network, images), predict_labels(again, images))
    before = (tmp_path / WEIGHTS).read_bytes()
    save_weights(again, tmp_path)
    assert (tmp_path / WEIGHTS).read_bytes() == before


def test_it_rejects_values_that_do_not_fit(tmp_path: Path) -> None:
    network = SmallResNet()
    with torch.no_grad():
        network.head.bias[0] = 1e6
    with pytest.raises(Refusal, match=r"head\.bias"):
        save_weights(network, tmp_path)
    assert not (tmp_path / WEIGHTS).exists()


def test_it_rejects_weights_of_another_network(tmp_path: Path) -> None:
    save_weights(SmallResNet(), tmp_path)
    with pytest.raises(Refusal, match="no weights of this network"):
        load_weights(CompactResNet(), tmp_path / WEIGHTS)
    (tmp_path / WEIGHTS).write_bytes(b"not safetensors")
    with pytest.raises(Refusal, match="no weights of this network"):
        load_weights(SmallResNet(), tmp_path / WEIGHTS)
