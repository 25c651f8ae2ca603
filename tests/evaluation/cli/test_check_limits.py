"""`gauntlet check`: the table of limits, for every track and all formats."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.cli.limit_table import exceeded, show_limits
from evaluation.domain.limit_use import LimitUse, Unit

SANDBOX = {"files of the repository", "memory", "processes and threads", "scratch space in /tmp"}
SET_UP = "set-up, from its start to its connection"
DISK = {"time for a batch of 100 images", "files left on the disk", "number of these files"}


def limits_of(gauntlet: Callable[..., Any], directory: Path, *words: object) -> dict[str, Any]:
    status, out, err = gauntlet("check", directory, "--samples", 2, "--json", *words)
    assert status == 0, err
    return {limit["name"]: limit for limit in json.loads(out)["limits"]}


def test_it_measures_a_model(gauntlet: Callable[..., Any], path_of: Callable[[str], Path]) -> None:
    found = limits_of(gauntlet, path_of("numpy-classifier"))
    assert set(found) == SANDBOX | {SET_UP, "time for an image"}
    assert found["time for an image"]["limit"] == 0.04
    assert found["time for an image"]["used"] > 0
    assert found[SET_UP]["used"] > 0
    assert 1 << 20 < found["memory"]["used"] < 4 << 30


def test_it_measures_a_model_by_the_rules_of_curves(
    gauntlet: Callable[..., Any], path_of: Callable[[str], Path], root: Path
) -> None:
    competition = root / "competitions" / "digits-white-box.toml"
    found = limits_of(gauntlet, path_of("numpy-classifier"), "--competition", competition)
    assert set(found) == SANDBOX | {SET_UP, "time for an image"}
    assert all(found[name]["used"] > 0 for name in (SET_UP, "time for an image", "memory"))


def test_it_measures_an_attack(gauntlet: Callable[..., Any], path_of: Callable[[str], Path]) -> None:
    found = limits_of(gauntlet, path_of("gaussian-noise"), "--budget", 200)
    assert set(found) == SANDBOX | {SET_UP, "time for a sample, without the model's", "queries for a sample"}
    assert found["time for a sample, without the model's"]["used"] > 0
    assert 0 < found["queries for a sample"]["used"] <= found["queries for a sample"]["limit"] == 200


def test_it_names_what_git_leaves_out_of_a_push(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    """A player in place reads the weights although the site will not have them."""
    (tmp_path / "submission.toml").write_text("wrong")
    for name in ("main.py", "weights.npz", *(f"{number}.log" for number in range(6))):
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.npz\n")
    assert "Ignored by git" not in gauntlet("check", tmp_path)[2]
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    assert "Ignored by git, so no part of the submission: weights.npz.\n" in gauntlet("check", tmp_path)[2]
    (tmp_path / ".gitignore").write_text("*.npz\n*.log\n")
    assert "4.log and 2 more.\n" in gauntlet("check", tmp_path)[2]


def test_it_extends_a_small_batch_to_a_whole_one(gauntlet: Callable[..., Any], tmp_path: Path) -> None:
    gauntlet("new", "attack", tmp_path / "mine")
    found = limits_of(gauntlet, tmp_path / "mine")
    assert set(found) == SANDBOX | DISK
    assert {name for name, limit in found.items() if limit["estimated"]} == DISK
    assert found["number of these files"]["used"] == 100  # one for each image


def test_the_table_warns_near_a_limit_and_names_what_an_estimate_cannot_prove(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measured, estimated = LimitUse("memory", 3 << 30, 2 << 30, Unit.BYTES), LimitUse("time", 600, 500, estimated=True)
    rows = [LimitUse("queries", 850, 1000, Unit.COUNT), measured, estimated, LimitUse("scratch", None, 1, Unit.BYTES)]
    show_limits(rows)
    shown = capsys.readouterr().out
    assert re.search(r"queries +850 +1,000 +85 % +near the limit", shown)
    assert re.search(r"memory +3 GiB +2 GiB +150 % +over the limit", shown)
    assert re.search(r"time +up to 600 s +500 s +120 % +over the limit", shown)
    assert re.search(r"scratch +- +1 bytes +- +not measured", shown)
    assert "queries: 80% or more of the limit is used" in shown
    assert "time: may be over the limit; check with more --samples" in shown
    assert exceeded(rows) == [measured]
