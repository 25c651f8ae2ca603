"""The bundled models keep what their READMEs promise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from evaluation.baselines.shared.network import as_input
from evaluation.datasets.load import load_dataset
from evaluation.domain.players import TrackName
from evaluation.formats.query.catalogue import Baseline, baselines
from evaluation.training.white_box_reference import network_in

FLOORS = {
    "plain-resnet": 0.95,
    "adversarial-logit-pairing": 0.90,
    "frozen-noise": 0.90,
    "numpy-classifier": 0.90,
    "mutual-ensemble": 0.90,
    "randomised-smoothing": 0.90,
    "trades-ensemble": 0.90,
}

every_model = pytest.mark.parametrize("name", FLOORS)


@every_model
def test_every_bundled_model_is_as_accurate_as_its_training_report_says(
    loaded_main: Callable[[str], ModuleType], root: Path, name: str
) -> None:
    samples = load_dataset("digits").samples("validation")
    labels = loaded_main(name).predict(np.stack([sample.image for sample in samples]))
    accuracy = float((labels == np.array([sample.label for sample in samples])).mean())
    assert accuracy >= FLOORS[name]
    report = json.loads((root / "evaluation" / "baselines" / name / "training.json").read_text())
    assert accuracy == pytest.approx(report["validation_accuracy"], abs=0.01)


@pytest.mark.parametrize(
    "name", [*FLOORS, "transformation-ensemble", "compact-plain", "compact-robust", "compact-robust-025"]
)
def test_the_label_does_not_depend_on_company(loaded_main: Callable[[str], ModuleType], name: str) -> None:
    predict = loaded_main(name).predict
    images = np.stack([sample.image for sample in load_dataset("digits").samples("dev", 12)])
    together = predict(images)
    assert together.dtype.kind == "i"
    assert [int(predict(image[np.newaxis])[0]) for image in images] == together.tolist()
    assert predict(images[::-1]).tolist() == together.tolist()[::-1]


def test_the_ensemble_of_transformations_is_the_mean_answer_to_its_views(
    loaded_main: Callable[[str], ModuleType],
) -> None:
    """Guo et al. 2018: fewer bits, JPEG, and crops that are enlarged again."""
    main = loaded_main("transformation-ensemble")
    samples = load_dataset("digits").samples("validation")
    images = np.stack([sample.image for sample in samples])
    views = main.views(images[0])
    assert views.shape == (7, *images[0].shape)
    assert set(np.unique(views[0])) <= {0, 36, 73, 109, 146, 182, 219, 255}
    assert np.abs(views[0].astype(int) - images[0]).max() <= 18
    assert 0 < np.abs(views[1].astype(int) - images[0]).max() < 64
    slope = np.broadcast_to(np.arange(0, 256, 4, dtype=np.uint8)[:, None], (64, 64, 3))  # four levels a column
    corners = [round(float(crop.mean() - slope.mean())) for crop in main.crops(np.ascontiguousarray(slope))]
    assert corners == [-16, 16, -16, 16, 0]  # from the column 0 or 8, or 4 in the centre
    right = (main.predict(images) == [sample.label for sample in samples]).mean()
    assert right >= 0.9


def test_a_smoothed_classifier_counts_votes_under_fixed_noise(loaded_main: Callable[[str], ModuleType]) -> None:
    """Cohen et al. 2019, section 3.2.2, with noise that is the same for each image."""
    classifier = loaded_main("randomised-smoothing").CLASSIFIER
    noise = classifier.noise
    assert noise.shape == (100, 3, 64, 64)
    assert float(noise.std()) == pytest.approx(1.0, abs=0.001)
    image = as_input(load_dataset("digits").samples("validation")[0].image[np.newaxis])
    with torch.inference_mode():
        votes = classifier.network(image + noise).argmax(1).bincount(minlength=10) / 100
        assert classifier(image)[0].tolist() == pytest.approx(votes.tolist(), abs=1e-6)


def test_an_ensemble_sums_the_logits_of_its_members_with_weights(loaded_main: Callable[[str], ModuleType]) -> None:
    """Brendel et al. 2020, section 7.1: a quarter, a quarter and a half."""
    ensemble = loaded_main("trades-ensemble").ENSEMBLE
    images = torch.rand((2, 3, 64, 64), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        one, other, third = (member(images) for member in ensemble.members)
        torch.testing.assert_close(ensemble(images), 0.25 * one + 0.25 * other + 0.5 * third)


MODELS = [each for each in baselines() if each.track is TrackName.MODEL and not each.missing_package]


@pytest.mark.parametrize("baseline", MODELS, ids=lambda each: each.name)
def test_the_network_of_a_bundled_model_gives_the_labels_of_its_program(
    baseline: Baseline, loaded_main: Callable[[str], ModuleType]
) -> None:
    network = network_in(baseline.repository())
    if baseline.name in ("numpy-classifier", "transformation-ensemble"):
        assert network is None, "it has no torch, or answers for views that have no gradients"
        return
    assert network is not None
    images = np.stack([sample.image for sample in load_dataset("digits").samples("dev", 20)])
    with torch.inference_mode():
        labels = network(as_input(images)).argmax(1).tolist()
    assert labels == loaded_main(baseline.name).predict(images).tolist()
