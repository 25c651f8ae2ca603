"""`gauntlet simulate`, as a person calls it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from evaluation.formats.query.tournament import simulation
from evaluation.formats.query.tournament.ladder import Ladder
from evaluation.formats.query.tournament.schedule_output import most_triples
from evaluation.formats.query.tournament.simulation import GPU_DAYS_PER_TRIPLE

_play_once = functools.cache(simulation._play)


@pytest.fixture(autouse=True)
def _each_tournament_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process: equal tasks have equal findings. Other processes play their own."""
    monkeypatch.setattr(simulation, "_play", _play_once)


def test_each_schedule_has_its_price_and_its_differences_from_the_others(gauntlet: Callable[..., Any]) -> None:
    words = ("simulate", "--json", "--tournaments", 1, "--regimes", "base")
    status, out, err = gauntlet(*words, "--jobs", 1)
    assert status == 0, err
    rows = {row["schedule"]: row for row in json.loads(out)}
    alone = [name for name in rows if " - " not in name]
    assert alone == ["everybody", "halving-in-full", "halving", "ladder-2", "ladder", "ladder-guard", "truth-again"]
    # 2,000,000, 195,000 and 153,500 triples of 40 s
    assert rows["everybody"]["gpu_days"] == pytest.approx(925.93, abs=0.01)
    assert rows["halving-in-full"]["gpu_days"] == pytest.approx(90.28, abs=0.01)
    assert rows["halving"]["gpu_days"] == pytest.approx(71.06, abs=0.01)
    # 60,200 triples: 39 % of halving
    assert rows["ladder-2"]["gpu_days"] == pytest.approx(27.87, abs=0.01)
    assert 15 < rows["ladder"]["gpu_days"] < most_triples(Ladder().ceilings(100, 100, 200)) * GPU_DAYS_PER_TRIPLE
    for row in (rows[name] for name in alone):
        shares = (f"{name}_{side}" for name in ("recall", "agreement") for side in ("models", "attacks"))
        assert all(0.4 <= row[name] <= 1 for name in shares)
        assert all(row[name] in (0, 1) for name in ("rank1_models", "rank1_attacks"))
        assert all(0 <= row[name] < 8 for name in ("loss_models", "loss_attacks"))
        assert row["recall_models_error"] is None
    gap = rows["ladder-2 - everybody"]["recall_models"]
    assert gap == pytest.approx(rows["ladder-2"]["recall_models"] - rows["everybody"]["recall_models"])


def test_processes_change_nothing(gauntlet: Callable[..., Any]) -> None:
    words = ("simulate", "--json", "--tournaments", 1, "--regimes", "base,broken", "--per-regime")
    alone, spread = (gauntlet(*words, "--jobs", jobs)[1] for jobs in (1, 2))
    assert alone == spread
    assert {row["regime"] for row in json.loads(alone)} == {"all", "base", "broken"}


def test_it_prints_tables_with_standard_errors(gauntlet: Callable[..., Any]) -> None:
    status, out, _ = gauntlet("simulate", "--tournaments", 2, "--regimes", "base", "--jobs", 1)
    assert status == 0
    assert [words for words in ("models", "attacks") if f"2 tournaments each: {words}, difference" in out]
    assert re.search(r"^ ladder-guard +\d+\.\d( +[01]\.\d{3} \(\d\.\d{3}\)){2} ", out, re.MULTILINE)
    assert re.search(r"^ ladder-2 - everybody +-\d+\.\d +[+-]\d\.\d{3} \(\d\.\d{3}\) ", out, re.MULTILINE)
    assert "1,000 new samples" in out
    assert "regimes base, 2 tournaments each: models" in out


@pytest.mark.parametrize("words", [("--regimes", "easy"), ("--tournaments", 0), ("--seed", -1)])
def test_it_rejects_what_cannot_be_simulated(gauntlet: Callable[..., Any], words: tuple[object, ...]) -> None:
    status, _, err = gauntlet("simulate", *words)
    assert status == 2
    assert str(words[0]) in err
