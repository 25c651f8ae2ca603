"""A competition with small images of three classes, from its import to its boards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from formats.query.leaderboards.evaluation_basis import pool_in_force
from formats.query.leaderboards.score_visibility import board, evaluation_of
from tests.platform.any_images.conftest import MODEL, TARGETED, UNTARGETED, write_images

if TYPE_CHECKING:
    from competitions.models import Competition
    from tests.platform.any_images.conftest import Site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20)]

SAMPLES = {"development": 12, "validation": 6}


@pytest.fixture(autouse=True)
def _images(site: Site) -> None:
    write_images(site.folder / "images", side=32, counts={"development": 4, "validation": 2})


def rows(competition: Competition, kind: str) -> list[tuple[str, int]]:
    """Return the teams on a leaderboard, each with its number of samples."""
    track = competition.tracks.get(name=kind)
    return [(row.team_slug, row.samples) for row in board(track).rows]


def test_without_baselines_the_first_submissions_are_the_opponents(site: Site, read_page: Callable[[str], str]) -> None:
    competition = site.import_competition(side=32, samples=SAMPLES)
    assert (
        "The track untargeted has no baselines. Its first pool is built from the first ready submissions."
        in site.output
    )
    assert "attacks against a nearest-mean model of the development images (12 correct)" in site.output
    boards = "/competitions/colours/leaderboards"
    assert "Attacks get a score when the pool of models is ready." in read_page(f"{boards}/untargeted")
    assert "Models get a score when the pool of attacks is ready." in read_page(f"{boards}/model")

    assert "No opponents yet. The first ready submissions of each track become" in read_page("/competitions/colours")
    attack = site.submit("arrows", "untargeted", UNTARGETED)
    assert attack.state == "ready", attack.problem
    assert rows(competition, "untargeted") == []
    page = read_page("/competitions/colours")
    assert "Attacks get a score when the pool of models is ready." in page
    assert "No scores yet." in page, "models can be scored by now"

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


def test_with_baselines_the_first_model_is_scored(site: Site) -> None:
    competition = site.import_competition(side=32, samples=SAMPLES, baselines={"untargeted": ["salt-and-pepper"]})
    assert "track untargeted" not in site.output
    site.submit("shields", "model", MODEL.format(tint=0))
    assert rows(competition, "model") == [("shields", 6)]


def test_the_import_warns_of_baselines_for_digits(site: Site) -> None:
    baselines = {"model": ["plain-resnet"], "untargeted": ["boundary", "single-step-transfer"]}
    site.import_competition(side=32, samples=SAMPLES, baselines=baselines)
    assert "Warning: some baselines of track model work only on digits: plain-resnet. Remove them." in site.output
    assert "baselines of track untargeted work only on digits: single-step-transfer. Remove" in site.output


def test_the_import_warns_of_a_bundled_opponent(site: Site) -> None:
    site.import_competition(side=32, samples=SAMPLES, smoke_opponent="numpy-classifier")
    assert "Warning: numpy-classifier works only on digits." in site.output


def test_the_import_warns_where_no_attack_can_pass(site: Site) -> None:
    site.import_competition(side=32, samples={"development": 1, "validation": 6})
    assert "Warning: no attack can pass the smoke test: a nearest-mean model of the first 1 development" in site.output


def test_the_smoke_test_uses_the_model_of_the_file(site: Site) -> None:
    model = site.folder / "green"
    model.mkdir()
    (model / "submission.toml").write_text(
        '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Green"\nlicence = "MIT"\n'
    )
    (model / "main.py").write_text("from gauntlet import serve_model\nserve_model(lambda x: [1] * len(x))\n")
    site.import_competition(side=32, samples=SAMPLES, smoke_opponent=str(model))
    attack = site.submit("arrows", "untargeted", UNTARGETED)
    assert attack.reason == "check_failed", "nobody breaks a model that always answers green"
    assert "adversarials for 0 of 4 samples" in attack.problem
