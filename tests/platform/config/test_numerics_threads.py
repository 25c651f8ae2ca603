"""Threads of the numerics libraries in the programs of the site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured

CHOSEN = "import os; print(os.environ['OPENBLAS_NUM_THREADS'])"
COUNT = "import numpy, os; a = numpy.ones((600, 600)); a @ a; print(len(os.listdir('/proc/self/task')))"


def _printed(state: Path, code: str, **variables: str) -> int:
    """The number that a program prints."""
    unset = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=unset | {"GAUNTLET_STATE": str(state)} | variables,
        cwd=configured.ROOT, check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return int(done.stdout)


@pytest.mark.parametrize(
    "begins",
    [
        "from config import celery_app; celery_app.loader.init_worker()",
        "import config.web_server",
    ],
    ids=["worker", "web server"],
)
def test_each_program_calculates_in_one_thread(tmp_path: Path, begins: str) -> None:
    assert _printed(tmp_path, f"{begins}; {COUNT}") == 1


def test_an_operator_may_choose_another_number(tmp_path: Path) -> None:
    assert _printed(tmp_path, f"import config.web_server; {CHOSEN}", OPENBLAS_NUM_THREADS="2") == 2
