"""`gauntlet compare`: real matches, kept and read again."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.scoring.distances import l2

HOST = {"seconds.csv", "result.json"}
"""Files with times."""


@pytest.fixture
def compare(gauntlet: Callable[..., tuple[int, str, str]]) -> Callable[..., tuple[int, str, str]]:
    """Compares two attacks on two digits."""

    def run(out: Path, *words: object, samples: int = 2) -> tuple[int, str, str]:
        players = ("numpy-classifier", "cgba", "gaussian-noise")
        budget = ("--samples", samples, "--budget", 60, "--at", "20", "--within", "20,30", "--out", out)
        return gauntlet("compare", *players, *budget, *words)

    return run


def content(directory: Path) -> dict[Path, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file() and path.name not in HOST)
    return {path.relative_to(directory): path.read_bytes() for path in files}


def test_an_interrupted_comparison_goes_on_to_the_same_bytes(compare: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, shown, err = compare(out)
    assert status == 0, err
    assert "cgba" in shown
    whole = content(out)
    names = {path.name for path in whole}
    assert {"comparison.md", "comparison.csv", "distances.csv", "curves--untargeted--numpy-classifier.svg"} <= names

    # as after a kill while the second match was written: it has no folder, and nothing was compared
    kept, lost = (out / "matches" / f"{name}--numpy-classifier" for name in ("cgba", "gaussian-noise"))
    shutil.copytree(lost, lost.with_name(f"{lost.name}.unfinished"))
    shutil.rmtree(lost)
    for path in out.glob("*.*"):
        path.unlink()
    written = (kept / "result.json").stat().st_mtime_ns
    status, _, err = compare(out, "--workers", 2)
    assert status == 0, err
    assert content(out) == whole
    assert (kept / "result.json").stat().st_mtime_ns == written, "it was not played again"

    # distances are those of the images of whole levels, after exactly the budget
    with (out / "distances.csv").open(encoding="utf-8") as file:
        rows = {(row["attack"], int(row["sample"])): row for row in csv.DictReader(file)}
    for attack in ("cgba", "gaussian-noise"):
        folder = out / "matches" / f"{attack}--numpy-classifier"
        arrays = np.load(folder / "perturbed.npz")
        for sample, clean, perturbed in zip(arrays["sample"], arrays["clean"], arrays["perturbed"], strict=True):
            row = rows[attack, int(sample)]
            assert float(row["after_60"]) == pytest.approx(min(l2(perturbed, clean), worst_of(folder, int(sample))))
            assert float(row["after_60"]) <= float(row["after_20"])
    assert {each["queries"] for each in rows_of(out / "matches" / "cgba--numpy-classifier")} == {60}

    status, _, err = compare(out, "--seed", 1)
    assert status == 2
    assert "was played with other seed" in err


def rows_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "result.json").read_text(encoding="utf-8"))["samples"]
    return rows


def worst_of(folder: Path, sample: int) -> float:
    return next(float(row["worst_case"]) for row in rows_of(folder) if row["sample"] == sample)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("numpy-classifier", "cgba", "--at", "2000"), "--at 2000 is above the budget of 1,000 queries"),
        (("numpy-classifier", "--at", "20"), "matches need a model and an attack"),
        (("numpy-classifier", "cgba", "cgba"), "two players have the name cgba"),
        (("numpy-classifier", "cgba", "--within", "0,1"), "has a distance that is not above 0"),
    ],
)
def test_it_rejects_what_cannot_be_compared(
    gauntlet: Callable[..., Any], tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    status, _, err = gauntlet("compare", *words, "--samples", 2, "--out", tmp_path / "out")
    assert status == 2
    assert problem in " ".join(err.split())
    assert not list((tmp_path / "out").rglob("result.json"))
