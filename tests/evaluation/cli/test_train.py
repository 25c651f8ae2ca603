"""`gauntlet train`, as small as it comes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture


def test_the_report_has_the_whole_command_and_no_path_of_this_host(
    gauntlet: Callable[..., Any], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ("--epochs", 1, "--batch", 300, "--seed", 4, "--robust-samples", 2)
    status, printed, err = gauntlet("train", "pgd", *options, "--steps", 1, "--out", out, "--json")
    assert status == 0, err
    report = json.loads(printed)
    assert report["command"] == (
        "gauntlet train pgd --dataset digits --seed 4 --epochs 1 --batch 300 --steps 1 --robust-samples 2 --out DIR"
    )
    assert report == json.loads((out / "training.json").read_text())
    assert str(tmp_path) not in (out / "training.json").read_text(), "a report to share names no path"


def test_it_says_how_good_the_network_is(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = gauntlet("train", "numpy", "--epochs", 2, "--out", tmp_path)
    assert status == 0
    assert "on validation" in err


def test_the_recipe_numpy_needs_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys\nsys.modules['torch'] = None\nfrom evaluation.cli import main\n"
        f"sys.exit(main(['train', 'numpy', '--epochs', '1', '--out', {str(tmp_path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "training.json").read_text())
    assert "torch" not in report["host"]


def test_the_recipe_numpy_rejects_options_of_networks(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = gauntlet("train", "numpy", "--learning-rate", 0.1, "--out", tmp_path)
    assert (status, "the recipe numpy has no --learning-rate" in err) == (2, True)


def test_it_rejects_a_batch_of_one_image_whose_features_are_one_value(
    gauntlet: Callable[..., Any], tmp_path: Path
) -> None:
    for split in ("train", "validation"):
        for name in ("bee", "fly"):
            (tmp_path / "data" / split / name).mkdir(parents=True)
            Picture.new("RGB", (4, 4)).save(tmp_path / "data" / split / name / "one.png")
    options = ("--batch", 1, "--epochs", 1, "--dataset", f"folder:{tmp_path / 'data'}", "--out", tmp_path / "out")
    status, _, err = gauntlet("train", "plain", *options)
    assert status == 2
    assert "cannot be trained on one small image at a time" in err
    assert "use --batch 2 or more" in err


def test_it_rejects_unknown_recipes(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = gauntlet("train", "adversarial", "--out", tmp_path)
    assert status == 2
    assert "logit-pairing" in err


@pytest.mark.parametrize("option", ["--seed", "--robust-samples"])
def test_it_rejects_numbers_below_zero(gauntlet: Callable[..., Any], tmp_path: Path, option: str) -> None:
    status, _, err = gauntlet("train", "numpy", option, -1, "--epochs", 1, "--out", tmp_path)
    assert status == 2
    assert f"argument {option}: must not be negative" in err
