"""The other subcommands, each as a person calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from evaluation.cli import demo
from evaluation.domain.players import TrackName
from evaluation.formats.query.catalogue import baselines_for, find_baseline
from evaluation.sandbox.bubblewrap import bubblewrap_works
from tests.conftest import SandboxProgram


def test_baselines_lists_every_track_of_both_formats(gauntlet: Callable[..., Any]) -> None:
    status, out, _ = gauntlet("baselines", "--json")
    rows = json.loads(out)
    assert status == 0
    assert {row["track"] for row in rows} == {
        *("model", "untargeted", "targeted"),
        *("attack", "targeted_attack", "defence"),
    }
    assert all(set(row) == {"name", "track", "images", "path"} for row in rows)
    manifests = {True: "submission.toml", False: "metadata.json"}
    assert all((Path(row["path"]) / manifests[row["track"] in list(TrackName)]).is_file() for row in rows)
    shown = gauntlet("baselines")[1].splitlines()
    assert len(shown) < len(rows) + 10  # one line each, in 80 columns too
    assert {row["images"] for row in rows} == {"any", "digits", "tiny-imagenet", "digits or nips2017"}


@pytest.mark.parametrize("track", ["model", "untargeted", "attack"])
def test_a_new_submission_passes_its_check(gauntlet: Callable[..., Any], tmp_path: Path, track: str) -> None:
    assert gauntlet("new", track, tmp_path / "mine")[0] == 0
    status, out, err = gauntlet("check", tmp_path / "mine", "--samples", 6, "--budget", 300)
    assert status == 0, out + err
    assert "The site would accept it." in out


def test_check_in_docker_without_an_engine_says_what_to_start(
    gauntlet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    status, _, err = gauntlet("check", "gaussian-noise", "--sandbox", "docker")
    assert status == 3
    assert "no Docker engine answers" in err
    assert "fix: start the Docker engine, or leave out --sandbox docker" in err
    assert "internal error" not in err


def test_check_says_where_players_are_not_contained(
    gauntlet: Callable[..., Any], sandbox_program: SandboxProgram
) -> None:
    _, _, err = gauntlet("check", "gaussian-noise", "--samples", 2, "--budget", 20)
    assert "bubblewrap" not in err
    sandbox_program.remove()
    bubblewrap_works.cache_clear()
    try:
        _, _, err = gauntlet("check", "gaussian-noise", "--samples", 2, "--budget", 20)
    finally:
        bubblewrap_works.cache_clear()
    assert err.count("bubblewrap does not work on this host: players run with all your rights") == 1


def test_new_keeps_what_is_there(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    status, _, err = gauntlet("new", "model", tmp_path)
    assert status == 2
    assert "not empty" in err
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_check_names_what_a_random_model_breaks(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    gauntlet("new", "model", tmp_path / "mine")
    (tmp_path / "mine" / "main.py").write_text(
        "import numpy as np\nfrom gauntlet import serve_model\n"
        "rng = np.random.default_rng()\nprint('hello from the model')\n"
        "serve_model(lambda images: rng.integers(0, 10, len(images)))\n"
    )
    status, out, _ = gauntlet("check", tmp_path / "mine", "--samples", 10, "--json")
    found = json.loads(out)
    failed = {check["name"] for check in found["checks"] if not check["passed"]}
    assert status == 3
    assert {"accuracy", "stateless"} <= failed
    assert "hello from the model" in found["log"]


def test_check_names_an_attack_that_finds_nothing(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    gauntlet("new", "untargeted", tmp_path / "mine")
    (tmp_path / "mine" / "main.py").write_text(
        "from gauntlet import serve_attack\nserve_attack(lambda model, image, label, *, target, rng: image)\n"
    )
    status, out, _ = gauntlet("check", tmp_path / "mine", "--samples", 3, "--json")
    failed = [check for check in json.loads(out)["checks"] if not check["passed"]]
    assert status == 3
    assert [check["name"] for check in failed] == ["success"]
    assert failed[0]["seen"] == "adversarials for 0 of 3 samples: the attack found no adversarial"


def test_check_says_where_a_model_crashed_and_reaches_no_further_check(
    gauntlet: Callable[..., Any], tmp_path: Path
) -> None:
    gauntlet("new", "model", tmp_path / "mine")
    (tmp_path / "mine" / "main.py").write_text(
        "from gauntlet import serve_model\n\ndef predict(images):\n    return len(images) / 0\n\nserve_model(predict)\n"
    )
    status, out, _ = gauntlet("check", tmp_path / "mine", "--samples", 3)
    assert status == 3
    verdict = out.split("The site would reject it: ")[1].splitlines()
    assert verdict[0] == "ZeroDivisionError: division by zero (main.py, line 4)"
    assert verdict[1:] == ["  fix: correct `main.py` at line 4"]
    for name in ("accuracy", "time", "stateless"):
        assert f"not reached  {name}\n" in out


def test_check_says_where_an_attack_raised(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    gauntlet("new", "untargeted", tmp_path / "mine")
    (tmp_path / "mine" / "main.py").write_text(
        "from gauntlet import serve_attack\n\ndef attack(model, image, label, *, target, rng):\n"
        "    raise KeyError('epsilon')\n\nserve_attack(attack)\n"
    )
    status, out, _ = gauntlet("check", tmp_path / "mine", "--samples", 2)
    assert status == 3
    assert "The site would reject it: KeyError: 'epsilon' (main.py, line 4)" in out
    assert "the attack raised an exception on this sample" in out


def test_a_tournament_makes_boards(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    names = ("numpy-classifier", "gaussian-noise", "salt-and-pepper", "targeted-interpolation")
    words = ("--samples", 3, "--budget", 60, "--workers", 2, "--out", tmp_path, "--json")
    status, out, err = gauntlet("tournament", *map(path_of, names), *words)
    assert status == 0, err
    boards = json.loads(out)["boards"]
    assert [board["track"] for board in boards] == ["model", "untargeted", "targeted"]
    assert {row["name"] for row in boards[1]["rows"]} == {"gaussian-noise", "salt-and-pepper"}
    assert [(row["rank_low"], row["rank_high"]) for row in boards[0]["rows"]] == [(1, 1)]
    assert "resampled" not in boards[0]["rows"][0]["score"]
    assert (tmp_path / "gaussian-noise--numpy-classifier" / "result.json").is_file()


def test_a_tournament_needs_both_sides(gauntlet: Callable[..., Any], path_of: Callable[[str], Path]) -> None:
    status, _, err = gauntlet("tournament", path_of("numpy-classifier"))
    assert status == 2
    assert "a model and an attack" in err


@pytest.mark.slow(35)
def test_the_demo_draws_a_gallery(
    gauntlet: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one of the bundled models; the others are played in `test_play`."""
    attacks = [each for each in baselines_for("digits") if each.track is not TrackName.MODEL]
    monkeypatch.setattr(demo, "baselines_for", lambda dataset: [find_baseline("numpy-classifier"), *attacks])
    status, out, err = gauntlet("demo", "--samples", 2, "--budget", 30, "--out", tmp_path)
    assert status == 0, err
    assert "Models, against the untargeted attacks" in out
    for told in ("held", "found nothing", "strongest opponent"):
        assert told in out
    assert "failures" not in out
    assert "do not compare two of them" in err
    with Picture.open(tmp_path / "gallery.png") as picture:
        assert picture.width > 500
        assert len(picture.getcolors(1 << 24) or []) > 50


def test_conformance_wants_a_command(gauntlet: Callable[..., Any]) -> None:
    status, _, err = gauntlet("conformance")
    assert status == 2
    assert "command that starts the player" in err


def colours(root: Path, *, side: int = 32, each: int = 3) -> Path:
    """Dark and light images, a folder for each class."""
    for name, grey in (("dark", 30), ("light", 90)):
        (root / name).mkdir(parents=True)
        for index in range(each):
            Picture.new("RGB", (side, side), (grey, grey, grey + index)).save(root / name / f"{index}.png")
    return root


def test_check_takes_any_data_set(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    gauntlet("new", "untargeted", tmp_path / "mine")
    folder = colours(tmp_path / "images")
    status, out, err = gauntlet("check", tmp_path / "mine", "--dataset", f"folder:{folder}", "--budget", 200)
    assert status == 0, out + err
    assert "opponent: a nearest-mean model of the split 'all'" in err
    assert "adversarials for 3 of 6 samples" in out, "noise makes dark images lighter"
    assert "found no adversarial" not in out, "the check is passed"


def test_a_split_is_asked_for_where_there_are_several(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    for split in ("one", "two"):
        colours(tmp_path / "images" / split)
    gauntlet("new", "untargeted", tmp_path / "mine")
    status, _, err = gauntlet("check", tmp_path / "mine", "--dataset", f"folder:{tmp_path / 'images'}")
    assert status == 2
    assert "name one of its splits: --split one or two" in err


def test_check_does_not_blame_an_attack_for_its_opponent(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    gauntlet("new", "untargeted", tmp_path / "mine")
    folder = f"folder:{colours(tmp_path / 'images')}"
    model = ("--model", path_of("numpy-classifier"))
    status, _, err = gauntlet("check", tmp_path / "mine", "--dataset", folder, *model)
    assert status == 2
    assert "the model numpy-classifier failed" in err
    assert "--model DIR" in err


def test_check_needs_a_model_for_an_opponent(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], tmp_path: Path
) -> None:
    gauntlet("new", "untargeted", tmp_path / "mine")
    status, _, err = gauntlet("check", tmp_path / "mine", "--model", path_of("boundary"))
    assert status == 3
    assert "untargeted track, not to the model track" in err
