"""Benchmarks that play matches for a table of the documentation run to their ends at their smallest size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow(12)
@pytest.mark.parametrize("name", ["played_liars", "honest_models", "equal_surrogates", "attack_costs"])
def test_a_benchmark_that_plays_matches_runs_to_its_end_and_prints_a_table(name: str) -> None:
    command = [sys.executable, "-m", f"bench.{name}", "--smallest"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.startswith("| ")]) > 2
