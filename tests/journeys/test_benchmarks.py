"""Every measurement of docs/performance.md runs to its end at its smallest size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import NAMES

ROOT = Path(__file__).resolve().parents[2]
SECONDS = {"pushes": 9, "whole_site": 18, "bombs": 20, "benchmark": 15}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.docker if name == "sandboxes" else pytest.mark.slow(SECONDS.get(name, 5)))
        for name in NAMES
    ],
)
def test_a_measurement_runs_at_its_smallest_size(name: str) -> None:
    command = [sys.executable, "-m", "bench", name, "--smallest"]
    if name in ("chain", "benchmark"):  # they need the environment that `make bench` makes
        command = ["make", "--no-print-directory", "bench", f"ARGS={name} --smallest"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "###" in done.stdout
    assert "|" in done.stdout
