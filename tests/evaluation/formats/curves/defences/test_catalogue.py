from __future__ import annotations

import hashlib
import json
import sys

import pytest
import torch

from evaluation.baselines.shared import lite_network
from evaluation.domain.errors import Refusal
from evaluation.formats.curves.defences.catalogue import BUNDLED, CIFAR_10, NOT_INCLUDED, TINY_IMAGENET, WEIGHTS

TRAINED = sorted(path.name for path in WEIGHTS.iterdir() if path.is_dir())
LARGEST = 3_000_000
"""Bytes of all weights together: they are in every installation."""


@pytest.mark.parametrize("name", [name for name, each in BUNDLED.items() if each.dataset == CIFAR_10])
def test_a_defence_for_cifar_10_answers_finite_scores_and_has_a_gradient(name: str) -> None:
    model = BUNDLED[name].load(torch.device("cpu"))
    with torch.random.fork_rng():
        images = torch.rand(2, 3, 32, 32)
        logits, gradient = model.gradient(images, lambda each: each[:, 0])
        assert logits.shape == (2, 10)
        assert gradient.abs().sum() > 0
        first = model.logits(images)
        # two draws of a small image may be equal
        assert any(not torch.equal(first, model.logits(images)) for _ in range(8)) == model.random


@pytest.mark.parametrize("name", [name for name, each in BUNDLED.items() if each.dataset == TINY_IMAGENET])
def test_a_defence_for_photographs_wraps_the_network_of_the_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lite_network, "SIDE", 32)  # faster
    monkeypatch.setattr(lite_network, "load_pretrained", lambda classes: lite_network.EfficientNetLite0(classes).eval())
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BUNDLED[name].load(torch.device("cpu"))
        images = torch.rand(1, 3, 64, 64)
        logits, gradient = model.gradient(images, lambda each: each[:, 0])
    assert logits.shape == (1, 200)
    assert gradient.abs().sum() > 0


def test_a_defence_for_photographs_without_the_package_is_refused_with_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, lite_network.PACKAGE.replace("-", "_"), None)
    with pytest.raises(Refusal, match=lite_network.PACKAGE) as refused:
        BUNDLED["tiny-imagenet-jpeg"].load(torch.device("cpu"))
    assert "pip install" in refused.value.fix


@pytest.mark.parametrize("folder", TRAINED)
def test_weights_are_those_of_their_record(folder: str) -> None:
    record = json.loads((WEIGHTS / folder / "training.json").read_text())
    weights = (WEIGHTS / folder / record["weights"]).read_bytes()
    assert hashlib.sha256(weights).hexdigest() == record["weights_sha256"]


def test_all_weights_are_small() -> None:
    assert sum(path.stat().st_size for path in WEIGHTS.rglob("*.safetensors")) < LARGEST


def test_every_other_defence_of_the_paper_is_listed_with_the_reason() -> None:
    assert all(each.reason for each in NOT_INCLUDED)
    assert not {each.name for each in NOT_INCLUDED} & BUNDLED.keys()
