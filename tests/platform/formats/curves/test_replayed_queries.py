"""A model that is no function of one image cannot raise its score: what it was asked is asked of a fresh instance."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.threat_models import Goal, Norm
from formats.curves.benchmark_runs import benchmark
from workers.sandboxes import open_sandbox

ATTACK = ListedAttack("hop-skip-jump", Goal.UNTARGETED, Norm.L2, 200)
RULES = CurvesRules(shape=ImageShape(4, 4, 3), classes=2, attacks=(ATTACK,))

HONEST = """
import gauntlet, numpy
def predict(images):
    return (images.mean((1, 2, 3)) > 128).astype(int)
gauntlet.serve_model(predict)
"""
REMEMBERS = """
import gauntlet, numpy
seen = []
def one(image):
    image = image.astype(float)
    for earlier, label in seen:
        if numpy.abs(image - earlier).mean() < 100:
            return label
    label = int(image.mean() > 128)
    seen.append((image, label))
    return label
gauntlet.serve_model(lambda images: numpy.array([one(image) for image in images]))
"""
"""It answers the label of the first image of those that look alike: the clean one."""
IS_RANDOM = """
import gauntlet, numpy
gauntlet.serve_model(lambda images: (images.mean((1, 2, 3)) + numpy.random.normal(0, 9, len(images)) > 128).astype(int))
"""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the state of the site, which sandboxes hide."""
    return tmp_path_factory.mktemp("program")


def played(folder: Path, code: str) -> Results:
    """Benchmark a program on four dark and four bright images."""
    (folder / "main.py").write_text(code)
    player = QueryPlayer("Model", (sys.executable, "main.py"), "sha256:1", directory=folder, track=TrackName.MODEL)
    noise = np.random.default_rng(0).integers(0, 40, (8, 4, 4, 3))
    samples = [Sample(n, (noise[n] + 160 * (n % 2) + 20).astype(np.uint8), n % 2) for n in range(8)]
    return benchmark(player, samples, ATTACK, RULES, seed=1, dataset="test", sandbox=open_sandbox())


def test_an_honest_model_has_results(folder: Path) -> None:
    assert np.isfinite(played(folder, HONEST).distances).all()


@pytest.mark.parametrize("code", [REMEMBERS, IS_RANDOM])
def test_a_model_with_memory_or_chance_fails(folder: Path, code: str) -> None:
    with pytest.raises(ModelFailedError) as failed:
        played(folder, code)
    assert failed.value.reason is Reason.INCONSISTENT
