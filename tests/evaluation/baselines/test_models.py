"""The bundled models keep what their READMEs promise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from evaluation.datasets.load import load_dataset

FLOORS = {"plain-resnet": 0.95, "adversarial-logit-pairing": 0.90, "frozen-noise": 0.90, "numpy-classifier": 0.90}

every_model = pytest.mark.parametrize("name", FLOORS)


@every_model
def test_every_bundled_model_is_as_accurate_as_its_training_report_says(
    load_main: Callable[[str], ModuleType], root: Path, name: str
) -> None:
    samples = load_dataset("digits").samples("validation")
    labels = load_main(name).predict(np.stack([sample.image for sample in samples]))
    accuracy = float((labels == np.array([sample.label for sample in samples])).mean())
    assert accuracy >= FLOORS[name]
    report = json.loads((root / "evaluation" / "baselines" / name / "training.json").read_text())
    assert accuracy == pytest.approx(report["validation_accuracy"], abs=0.01)


@pytest.mark.parametrize("name", [*FLOORS, "compact-plain", "compact-robust"])
def test_the_label_does_not_depend_on_company(load_main: Callable[[str], ModuleType], name: str) -> None:
    predict = load_main(name).predict
    images = np.stack([sample.image for sample in load_dataset("digits").samples("dev", 12)])
    together = predict(images)
    assert together.dtype.kind == "i"
    assert [int(predict(image[np.newaxis])[0]) for image in images] == together.tolist()
    assert predict(images[::-1]).tolist() == together.tolist()[::-1]
