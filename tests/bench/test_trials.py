"""Benchmarks that play matches for a table of the documentation run to their ends at their smallest size."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.slow(12)
@pytest.mark.parametrize("name", ["played_liars", "honest_models", "equal_surrogates", "attack_costs"])
def test_a_benchmark_that_plays_matches_runs_to_its_end_and_prints_a_table(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--smallest"])
    import_module(f"bench.{name}").main()
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]) > 2
