"""`gauntlet play`, on real images, a trained model and real attacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SAMPLE_KEYS = {"sample", "label", "target", "outcome", "distance", "worst_case", "queries", "seconds", "reason"}


def scores(result: dict[str, Any]) -> list[Any]:
    """Everything that a score is made of: all of a row but the time that it took."""
    return [{key: value for key, value in row.items() if key != "seconds"} for row in result["samples"]]


def test_a_match_has_a_row_for_each_sample_and_keeps_its_images(play: Callable[..., Any], tmp_path: Path) -> None:
    result = play("numpy-classifier", "gaussian-noise")
    assert {"rules", "track", "model", "attack", "median_distance", "samples"} <= set(result)
    assert (result["track"], result["model"], result["attack"]) == ("untargeted", "numpy-classifier", "gaussian-noise")
    assert result["rules"]["query_budget"] == 60
    assert result["median_distance"] == pytest.approx(np.median([row["distance"] for row in result["samples"]]))
    assert len(result["samples"]) == 4
    for row in result["samples"]:
        assert set(row) == SAMPLE_KEYS
        assert row["outcome"] in ("adversarial", "failed", "clean_wrong")
        assert 0 <= row["distance"] <= row["worst_case"]
        assert row["queries"] <= 60
    assert any(row["outcome"] == "adversarial" for row in result["samples"])
    arrays = np.load(tmp_path / "out" / "perturbed.npz")
    assert arrays["clean"].shape == arrays["perturbed"].shape == (4, 64, 64, 3)
    for row, clean, perturbed in zip(result["samples"], arrays["clean"], arrays["perturbed"], strict=True):
        if row["outcome"] == "adversarial":
            distance = np.linalg.norm((perturbed.astype(float) - clean).ravel()) / 255
            assert row["distance"] == pytest.approx(min(distance, row["worst_case"]))
        elif row["outcome"] == "failed":
            assert (perturbed == 128).all()


def test_a_targeted_match_hides_nothing_from_the_result(play: Callable[..., Any]) -> None:
    result = play("numpy-classifier", "targeted-interpolation")
    assert all(row["target"] not in (None, row["label"]) for row in result["samples"])


def test_it_gives_the_same_scores_for_the_same_seed(play: Callable[..., Any]) -> None:
    first = play("numpy-classifier", "boundary", "--seed", 3, out="first")
    again = play("numpy-classifier", "boundary", "--seed", 3, out="again")
    assert scores(first) == scores(again)


def test_a_piece_of_a_given_size_plays_as_a_match_of_that_size(play: Callable[..., Any]) -> None:
    whole = play("numpy-classifier", "gaussian-noise", "--pieces", "2,2", out="whole")
    first = play("numpy-classifier", "gaussian-noise", "--samples", 2, out="first")
    assert scores(whole)[:2] == scores(first)
    assert len(whole["samples"]) == 4


@pytest.mark.parametrize("model", ["adversarial-logit-pairing", "frozen-noise"])
def test_the_other_bundled_networks_play(play: Callable[..., Any], model: str) -> None:
    result = play(model, "gaussian-noise", "--samples", 2, "--budget", 20)
    assert result["failures"] == []
    assert any(row["outcome"] != "clean_wrong" for row in result["samples"])


@pytest.mark.slow(20)
@pytest.mark.docker
def test_both_sandboxes_give_the_same_scores(play: Callable[..., Any]) -> None:
    process = play("plain-resnet", "boundary", "--sandbox", "process", out="process")
    docker = play("plain-resnet", "boundary", "--sandbox", "docker", out="docker")
    assert scores(process) == scores(docker)


def test_it_prints_the_result_as_json(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    words = ("--track", "untargeted", "--samples", 2, "--budget", 20, "--out", tmp_path / "out", "--json")
    model, attack = path_of("numpy-classifier"), path_of("gaussian-noise")
    status, out, _ = gauntlet("play", "--model", model, "--attack", attack, *words)
    assert status == 0
    assert json.loads(out) == json.loads((tmp_path / "out" / "result.json").read_text())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--track", "model"), "invalid choice"),
        (("--track", "untargeted", "--samples", "0"), "at least 1"),
        (("--track", "untargeted", "--sandbox", "chroot"), "invalid choice"),
        (("--track", "untargeted", "--budget", "many"), "invalid"),
        (("--track", "untargeted", "--model", "nowhere"), "nowhere is not a directory"),
        (("--track", "untargeted", "--dataset", "nonsense"), "nonsense"),
        (("--track", "untargeted", "--split", "secret"), "no split 'secret'"),
        (("--track", "untargeted", "--samples", "201"), "has 200"),
        (("--track", "untargeted", "--budget", "5000000000"), "at most 1,000,000"),
        (("--track", "untargeted", "--pieces", "8,65"), "at most 64 samples"),
        (("--track", "untargeted", "--pieces", "8,0"), "at least 1"),
        (("--track", "untargeted", "--pieces", "8,"), "invalid"),
    ],
)
def test_it_rejects_wrong_usage(gauntlet: Callable[..., Any], words: tuple[str, ...], says: str) -> None:
    status, _, err = gauntlet("play", "--model", ".", "--attack", ".", "--out", "o", *words)
    assert status == 2
    assert says in err


@pytest.mark.parametrize(
    ("attack", "words", "says", "fix"),
    [
        ("targeted-interpolation", ("--track", "untargeted"), "targeted track", "play it with --track targeted"),
        ("numpy-classifier", (), "model track", "name another directory"),
    ],
)
def test_it_refuses_an_attack_of_another_track(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path,
    attack: str, words: tuple[str, ...], says: str, fix: str,
) -> None:  # fmt: skip
    model = path_of("numpy-classifier")
    status, _, err = gauntlet("play", "--model", model, "--attack", path_of(attack), *words, "--out", tmp_path / "out")
    assert status == 3
    assert says in err
    assert f"fix: {fix}" in err
    assert not (tmp_path / "out" / "result.json").exists()


def test_it_refuses_a_repository_without_a_manifest(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    status, _, err = gauntlet(
        "play", "--model", empty, "--attack", path_of("boundary"), "--track", "untargeted", "--out", tmp_path / "out"
    )
    assert status == 3
    assert "submission.toml" in err


def test_it_refuses_a_model_that_dies_in_its_set_up(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "submission.toml").write_text(
        '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Dies"\nlicence = "MIT"\n'
    )
    (model / "main.py").write_text('raise RuntimeError("no weights here")\n')
    words = ("--track", "untargeted", "--samples", 2, "--budget", 20, "--out", tmp_path / "out")
    status, _, err = gauntlet("play", "--model", model, "--attack", path_of("gaussian-noise"), *words)
    assert status == 3
    assert "the model failed: its process ended before it connected to the referee" in err
    assert "no weights here" in err
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert {(row["outcome"], row["reason"]) for row in result["samples"]} == {("clean_wrong", "exited_in_setup")}


def test_it_refuses_a_place_where_nothing_can_be_written_before_it_plays(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file of mine")
    model, attack = path_of("numpy-classifier"), path_of("gaussian-noise")
    status, _, err = gauntlet(
        "play", "--model", model, "--attack", attack, "--track", "untargeted", "--out", tmp_path / "taken"
    )
    assert status == 2
    assert "cannot write results" in err
    assert (tmp_path / "taken").read_text() == "a file of mine"


def test_what_a_player_prints_cannot_steer_the_terminal(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "submission.toml").write_text(
        '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Steers"\nlicence = "MIT"\n'
    )
    (model / "main.py").write_text('raise SystemExit("\\x1b[2Jgone")\n')
    words = ("--track", "untargeted", "--samples", 1, "--budget", 20, "--out", tmp_path / "out")
    status, out, err = gauntlet("play", "--model", model, "--attack", path_of("gaussian-noise"), *words)
    assert status == 3
    assert "gone" in err
    assert "\x1b[2J" not in out + err
    assert "gone" not in (tmp_path / "out" / "result.json").read_text()
