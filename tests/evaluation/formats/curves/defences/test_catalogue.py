from __future__ import annotations

import hashlib
import json

import pytest
import torch

from evaluation.formats.curves.defences.catalogue import BUNDLED, CIFAR_10, NOT_INCLUDED, WEIGHTS

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
        assert torch.equal(model.logits(images), model.logits(images)) != model.random


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
