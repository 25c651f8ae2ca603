"""Whole training runs, as small as they come."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from evaluation.domain.errors import DatasetRefusal, Refusal
from evaluation.training.report import TrainingReport
from evaluation.training.train import RECIPES, train


def run(out: Path, recipe: str = "plain", **changes: object) -> TrainingReport:
    given: dict[str, object] = {
        "recipe": recipe,
        "dataset": "digits",
        "out": out,
        "seed": 0,
        "device": "cpu",
        "epochs": 1,
        "progress": lambda done, steps, text: None,
    }
    return train(**(given | changes))  # type: ignore[arg-type]  # the values of a mixed dict


@pytest.mark.slow(8)
@pytest.mark.parametrize("recipe", RECIPES)
def test_it_works(tmp_path: Path, recipe: str) -> None:
    steps: list[tuple[int, int]] = []
    report = run(tmp_path / "new", recipe, progress=lambda done, of, text: steps.append((done, of)))
    assert (tmp_path / "new" / report.weights).is_file()
    assert json.loads((tmp_path / "new" / "training.json").read_text())["recipe"] == recipe
    assert 0 <= report.validation_accuracy <= 1
    assert [done for done, _ in steps] == list(range(1, steps[-1][1] + 1))


@pytest.mark.slow(15)
@pytest.mark.parametrize("recipe", ["noise", "adversarial"])
def test_equal_seeds_give_equal_networks(tmp_path: Path, recipe: str) -> None:
    first, again, other = (
        load_file(tmp_path / name / run(tmp_path / name, recipe, seed=seed).weights)
        for name, seed in (("first", 3), ("again", 3), ("other", 4))
    )
    assert all(bool((first[name] == again[name]).all()) for name in first)
    assert any(bool((first[name] != other[name]).any()) for name in first)


def test_equal_seeds_give_equal_perceptrons(tmp_path: Path) -> None:
    weights = []
    for name in ("first", "again"):
        with np.load(tmp_path / name / run(tmp_path / name, "numpy").weights) as arrays:
            weights.append(dict(arrays))
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"recipe": "magic"}, "magic"),
        ({"arch": "resnet19"}, "resnet19"),
        ({"recipe": "noise", "arch": "resnet18"}, "noise"),
        ({"epochs": 0}, "0 epochs"),
        ({"device": "toaster"}, "toaster"),
    ],
)
def test_it_rejects_what_it_does_not_have(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    with pytest.raises(Refusal, match=named) as refused:
        run(tmp_path, **changes)  # type: ignore[arg-type]  # the values of a mixed dict
    assert refused.value.fix


def test_it_rejects_unknown_data(tmp_path: Path) -> None:
    with pytest.raises(DatasetRefusal):
        run(tmp_path, dataset="letters")
