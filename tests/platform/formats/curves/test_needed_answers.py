"""The attacks of the rules decide what a submission must answer: labels, scores or gradients."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client

from competitions.services import import_competition
from core import worker_notifications
from core.errors import Refusal
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm
from evaluation.formats.registry import find_bundled
from formats.curves import benchmark_runs, smoke_test
from formats.curves.benchmark_runs import benchmark
from formats.curves.smoke_test import CurvesSmokeTest
from formats.curves.threat_model_boards import threat_models
from submissions.models import Player
from tests.platform.formats.curves.test_benchmarks import Stage
from workers.sandboxes import open_sandbox

BIM = ListedAttack("bim", Goal.UNTARGETED, Norm.LINF, 5)
SQUARE = ListedAttack("square", Goal.UNTARGETED, Norm.LINF, 30)

BRIGHTNESS = """
import gauntlet, numpy

def scores(images):
    mean = images.mean((1, 2, 3)) / 255
    return numpy.stack([0.5 - mean, mean - 0.5], axis=1)

def gradients(images, weights):
    slope = (weights[:, 1] - weights[:, 0]) / 255 / images[0].size
    return numpy.broadcast_to(slope[:, None, None, None], images.shape)

def predict(images):
    return scores(images).argmax(axis=1)

"""
"""A model of two classes: dark and bright. The smallest distance is that of the mean to a half."""

SERVED = "gauntlet.serve_model(predict, scores=scores, gradients=gradients)\n"
LIES = """
import random
gauntlet.serve_model(predict, scores=lambda images: scores(images) * (1 + random.random()), gradients=gradients)
"""


KEYS = ["white-box-untargeted-linf", "white-box-untargeted-l2", "score-untargeted-linf", "decision-untargeted-l2"]
"""The threat models of the competition of the digits whose attacks see scores and gradients."""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the state of the site, which sandboxes hide."""
    return tmp_path_factory.mktemp("program")


def program(folder: Path, code: str) -> QueryPlayer:
    (folder / "main.py").write_text(code)
    return QueryPlayer("Model", (sys.executable, "main.py"), "sha256:1", directory=folder, track=TrackName.MODEL)


def numpy_classifier(folder: Path, served: str) -> QueryPlayer:
    """Return the bundled model, which calls `serve_model` with other words."""
    bundled = find_bundled("numpy-classifier").repository()
    (folder / "weights.npz").write_bytes((bundled / "weights.npz").read_bytes())
    code = (bundled / "main.py").read_text().partition("if __name__")[0]
    return program(folder, f"{code}\nserve_model({served})\n")


def played(folder: Path, code: str, attack: ListedAttack) -> Results:
    """Benchmark a program on uniform images, dark ones and bright ones."""
    rules = CurvesRules(shape=ImageShape(4, 4, 3), classes=2, attacks=(attack,), budget_linf=28 / 255)
    samples = [Sample(n, np.full((4, 4, 3), 100 + 55 * (n % 2), np.uint8), n % 2) for n in range(4)]
    sandbox = open_sandbox()
    return benchmark(program(folder, code), samples, attack, rules, seed=1, dataset="test", sandbox=sandbox)


def test_a_white_box_attack_finds_the_nearest_image_of_8_bits(folder: Path) -> None:
    found = played(folder, BRIGHTNESS + SERVED, BIM)
    assert found.threat_model.knowledge is Knowledge.WHITE_BOX
    assert found.distances.tolist() == [28 / 255] * 4
    assert (found.traces[:, -1] <= found.fixed_budget).all()  # in double precision
    assert found.gradients.all()


def test_a_score_based_attack_sees_scores_and_no_gradients(folder: Path) -> None:
    found = played(folder, BRIGHTNESS + "gauntlet.serve_model(predict, scores=scores)", SQUARE)
    assert found.threat_model.knowledge is Knowledge.SCORE
    assert (found.distances >= 28 / 255).all()
    assert np.isfinite(found.distances).all()
    assert not found.gradients.any()


@pytest.mark.parametrize(
    ("served", "attack", "reason"),
    [
        ("gauntlet.serve_model(predict)", SQUARE, Reason.NOT_OFFERED),
        ("gauntlet.serve_model(predict, scores=scores)", BIM, Reason.NOT_OFFERED),
        (LIES, BIM, Reason.INCONSISTENT),
    ],
)
def test_a_model_that_does_not_answer_as_the_attack_needs_fails(
    folder: Path, served: str, attack: ListedAttack, reason: Reason
) -> None:
    with pytest.raises(ModelFailedError) as failed:
        played(folder, BRIGHTNESS + served, attack)
    assert failed.value.reason is reason


@pytest.fixture
def smoke(db: None, root: Path) -> CurvesSmokeTest:
    """The smoke test of the competition whose attacks see scores and gradients."""
    return CurvesSmokeTest.of(import_competition(document(root)))


def document(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "competitions/digits-white-box.toml").read_text(encoding="utf-8"))


def test_the_threat_models_of_leaderboards_are_those_of_the_attacks(smoke: CurvesSmokeTest) -> None:
    assert [each.key for each in threat_models(smoke.rules)] == KEYS


@pytest.mark.parametrize(
    ("served", "passed", "seen"),
    [
        ("predict, scores=scores, gradients=gradients", True, "0 of 20 images with scores below"),
        ("predict", False, "it offers labels, and the attacks of the competition also need scores and gradients"),
        ("predict, scores=lambda images: -scores(images), gradients=gradients", False, "20 of 20 images with scores"),
    ],
)
def test_the_smoke_test_asks_for_the_answers_that_the_attacks_need(
    smoke: CurvesSmokeTest, folder: Path, monkeypatch: pytest.MonkeyPatch, served: str, passed: bool, seen: str
) -> None:
    player = numpy_classifier(folder, served)
    monkeypatch.setattr(smoke_test, "ready_player", lambda row, on_log: player)
    *others, answers = smoke.check(Player(), lambda line: None, lambda: None).checks
    assert all(check.passed for check in others)
    assert answers.seen.startswith(seen)
    assert answers.passed is passed
    assert "serve_model" in answers.fix or "one network" in answers.fix


def test_boards_and_charts_of_all_knowledge_follow_from_one_submission(
    db: None, root: Path, folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = document(root)
    small["rules"]["attacks"] = [each | {"queries": 5} for each in small["rules"]["attacks"]]
    small["sample_sets"][1]["count"] = 6
    player = numpy_classifier(folder, "predict, scores=scores, gradients=gradients")
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)
    monkeypatch.setattr(benchmark_runs, "ready_player", lambda row, on_log: player)
    stage = Stage(small)
    submission = stage.submit("owls", {})
    stage.play()
    assert {(row.state, row.reason, row.fault) for row in submission.benchmarks.all()} == {("played", "", "")}
    boards = client.get("/api/v1/competitions/digits-white-box/leaderboards/model").json()["threat_models"]
    assert [(each["threat_model"], len(each["rows"])) for each in boards] == [(key, 1) for key in KEYS]
    page = client.get(f"/submissions/{submission.pk}").content.decode()
    assert page.count("Accuracy by iterations") >= 2
    assert "untargeted, L-inf, white-box" in page.replace("Untargeted", "untargeted")
    assert "5 iterations" in client.get("/competitions/digits-white-box/rules").content.decode()


@pytest.mark.parametrize(
    ("name", "norm", "problem"),
    [
        ("bim", "l2", "bim keeps within budgets in l2, which rounding would exceed; submissions see images of 8 bits"),
        ("nes", "linf", "there is no attack 'nes'"),
    ],
)
def test_attacks_that_images_of_8_bits_defeat_are_refused(
    root: Path, db: None, name: str, norm: str, problem: str
) -> None:
    changed = document(root)
    changed["rules"]["attacks"][0] |= {"name": name, "norm": norm}
    with pytest.raises(Refusal, match=problem):
        import_competition(changed)
