"""A competition with small images of three classes, from its import to its boards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from leaderboards.selectors import board, evaluation_of, pool_in_force
from tests.platform.any_images.conftest import MODEL, TARGETED, UNTARGETED, write_images

if TYPE_CHECKING:
    from competitions.models import Competition
    from tests.platform.any_images.conftest import Site

pytestmark = pytest.mark.django_db(transaction=True)

SAMPLES = {"development": 12, "validation": 6}


@pytest.fixture(autouse=True)
def _images(site: Site) -> None:
    write_images(site.folder / "images", side=32, counts={"development": 4, "validation": 2})


def rows(competition: Competition, kind: str) -> list[tuple[str, int]]:
    """The teams on a board, each with how many samples it was measured on."""
    track = competition.tracks.get(name=kind)
    return [(row.team_slug, row.samples) for row in board(track).rows]


def test_without_baselines_the_first_submissions_are_the_opponents(site: Site, read_page: Callable[[str], str]) -> None:
    competition = site.import_competition(side=32, samples=SAMPLES)
    assert "Track untargeted has no baselines: its first pool is made of the first ready submissions." in site.said
    assert "attacks meet a nearest-mean model of the development images; it gets 12 right" in site.said
    boards = "/competitions/colours/leaderboards"
    assert "Attacks are scored once models are in the pool." in read_page(f"{boards}/untargeted")
    assert "Models are scored once attacks are in the pool." in read_page(f"{boards}/model")

    assert "None yet. The first ready submissions of each track become" in read_page("/competitions/colours")
    attack = site.submit("arrows", "untargeted", UNTARGETED)
    assert attack.state == "ready", attack.problem
    assert rows(competition, "untargeted") == []
    page = read_page("/competitions/colours")
    assert "Attacks are scored once models are in the pool." in page
    assert "No score yet. The first one may be yours." in page, "models can be scored by now"

    model = site.submit("shields", "model", MODEL.format(tint=0))
    assert model.state == "ready", model.problem
    targeted = site.submit("spears", "targeted", TARGETED)
    assert targeted.state == "ready", targeted.problem
    assert [rows(competition, kind) for kind in ("model", "untargeted", "targeted")] == [
        [("shields", 6)],
        [("arrows", 6)],
        [("spears", 6)],
    ]

    site.submit("walls", "model", MODEL.format(tint=[0, 0, 9]))
    models = pool_in_force(competition.tracks.get(name="model"))
    assert models is not None
    assert [place.player.title for place in models.places.all()] == ["shields", "walls"]
    again = evaluation_of(attack)
    assert again is not None
    assert (again.state, again.pool) == ("scored", models), "measured again, against both"
    assert {team for team, _ in rows(competition, "model")} == {"shields", "walls"}


def test_with_baselines_a_model_is_scored_at_once(site: Site) -> None:
    competition = site.import_competition(side=32, samples=SAMPLES, baselines={"untargeted": ["salt-and-pepper"]})
    assert "Track untargeted" not in site.said
    site.submit("shields", "model", MODEL.format(tint=0))
    assert rows(competition, "model") == [("shields", 6)]


def test_the_import_warns_of_baselines_that_know_digits_only(site: Site) -> None:
    baselines = {"model": ["plain-resnet"], "untargeted": ["boundary", "single-step-transfer"]}
    site.import_competition(side=32, samples=SAMPLES, baselines=baselines)
    assert "Warning: baselines of track model that know digits only: plain-resnet. Remove them." in site.said
    assert "baselines of track untargeted that know digits only: single-step-transfer. Remove" in site.said


def test_the_import_warns_of_a_bundled_opponent(site: Site) -> None:
    site.import_competition(side=32, samples=SAMPLES, smoke_opponent="numpy-classifier")
    assert "Warning: numpy-classifier knows digits only." in site.said


def test_the_import_warns_where_no_attack_can_pass(site: Site) -> None:
    site.import_competition(side=32, samples={"development": 1, "validation": 6})
    assert "Warning: no attack can pass the smoke test: a nearest-mean model of the first 1 development" in site.said


def test_attacks_meet_the_model_that_the_file_names(site: Site) -> None:
    model = site.folder / "green"
    model.mkdir()
    (model / "submission.toml").write_text(
        '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Green"\nlicence = "MIT"\n'
    )
    (model / "main.py").write_text("from evaluation.sdk import serve_model\nserve_model(lambda x: [1] * len(x))\n")
    site.import_competition(side=32, samples=SAMPLES, smoke_opponent=str(model))
    attack = site.submit("arrows", "untargeted", UNTARGETED)
    assert attack.reason == "check_failed", "nobody breaks a model that always answers green"
    assert "adversarials for 0 of 4 samples" in attack.problem
