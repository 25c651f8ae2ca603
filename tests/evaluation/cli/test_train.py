"""`gauntlet train`, as small as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


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


def test_it_rejects_unknown_recipes(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = gauntlet("train", "adversarial", "--out", tmp_path)
    assert status == 2
    assert "logit-pairing" in err
