"""Every measurement of docs/performance.md runs to its end at its smallest size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import NAMES

pytestmark = pytest.mark.timeout(1000)

ROOT = Path(__file__).resolve().parents[2]
ALONE = {"pushes": 9, "whole_site": 18, "bombs": 20}
"""Measurements in a process of their own, and their seconds. The others, which are short, share one and its imports."""
NEED_DOCKER = ("sandboxes", "builds")
NEED_PACKAGES = ("chain", "benchmark")
"""Measurements that need the environment that `make bench` makes, which two processes cannot make at once."""


def _sections(*names: str, by_make: bool = False) -> int:
    """Return how many tables these measurements print at their smallest size."""
    command = [sys.executable, "-m", "bench", *names, "--smallest"]
    if by_make:
        command = ["make", "--no-print-directory", "bench", f"ARGS={' '.join(names)} --smallest"]
    shell = {
        name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")
    }  # set by pytest-django
    done = subprocess.run(command, cwd=ROOT, env=shell, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "|" in done.stdout
    return done.stdout.count("### ")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow(ALONE[name])) for name in ALONE])
def test_a_measurement_runs_at_its_smallest_size(name: str) -> None:
    assert _sections(name) >= 1


@pytest.mark.slow(20)
def test_measurements_with_other_packages_run_at_their_smallest_size() -> None:
    assert _sections(*NEED_PACKAGES, by_make=True) >= len(NEED_PACKAGES)


@pytest.mark.slow(30)
def test_the_short_measurements_run_at_their_smallest_size() -> None:
    short = [name for name in NAMES if name not in (*ALONE, *NEED_DOCKER, *NEED_PACKAGES)]
    assert _sections(*short) >= len(short)


@pytest.mark.docker
@pytest.mark.parametrize("name", NEED_DOCKER)
def test_a_measurement_with_docker_runs_at_its_smallest_size(name: str) -> None:
    assert _sections(name) >= 1
