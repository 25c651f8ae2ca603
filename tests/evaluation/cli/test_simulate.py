"""`gauntlet simulate`, as a person calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


def test_it_works(gauntlet: Callable[..., Any]) -> None:
    words = ("simulate", "--json", "--tournaments", 1, "--regimes", "base")
    status, out, err = gauntlet(*words, "--jobs", 1)
    assert status == 0, err
    rows = {row["schedule"]: row for row in json.loads(out)}
    assert list(rows) == ["halving", "halving-reused", "ladder", "ladder-guard"]
    # 195,000 and 153,500 triples of 40 s, and no more than 69,860
    assert rows["halving"]["gpu_days"] == pytest.approx(90.28, abs=0.01)
    assert rows["halving-reused"]["gpu_days"] == pytest.approx(71.06, abs=0.01)
    assert 15 < rows["ladder"]["gpu_days"] < 32.4
    for row in rows.values():
        assert all(0.6 <= row[name] <= 1 for name in ("recall_models", "recall_attacks"))
        assert all(row[name] in (0, 1) for name in ("rank1_models", "rank1_attacks"))
        assert all(0 <= row[name] < 5 for name in ("loss_models", "loss_attacks"))


def test_processes_change_nothing(gauntlet: Callable[..., Any]) -> None:
    words = ("simulate", "--json", "--tournaments", 2, "--regimes", "bimodal,broken", "--per-regime")
    alone, spread = (gauntlet(*words, "--jobs", jobs)[1] for jobs in (1, 2))
    assert alone == spread
    assert {row["regime"] for row in json.loads(alone)} == {"all", "bimodal", "broken"}


def test_it_prints_a_table(gauntlet: Callable[..., Any]) -> None:
    status, out, _ = gauntlet("simulate", "--tournaments", 1, "--regimes", "crowded", "--jobs", 1)
    assert status == 0
    assert "ladder-guard" in out


@pytest.mark.parametrize("words", [("--regimes", "easy"), ("--tournaments", 0), ("--seed", -1)])
def test_it_rejects_what_cannot_be_simulated(gauntlet: Callable[..., Any], words: tuple[object, ...]) -> None:
    status, _, err = gauntlet("simulate", *words)
    assert status == 2
    assert str(words[0]) in err
