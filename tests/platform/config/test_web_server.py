"""The web server has threads for pages beside those of clones and pushes, or does not start."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as configured

WEB = [sys.executable, "-m", "gunicorn", "--config", "python:config.web_server"]


def start(state: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run gunicorn with a listening socket that another program has: it starts, and ends at once."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        env = {"PATH": os.environ["PATH"], "GAUNTLET_STATE": str(state), **environment}
        address = f"--bind=127.0.0.1:{taken.getsockname()[1]}"
        command = [*WEB, address, "--no-control-socket", *options]
        return subprocess.run(command, cwd=configured.ROOT, env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("threads", "requests", "problem"),
    [
        ("4", "4", "GAUNTLET_MAX_GIT_REQUESTS is '4'. Set it to a whole number from 1 to 3: each clone or push holds"),
        ("1", "", "GAUNTLET_WEB_THREADS is '1'. Set it to a whole number of at least 2."),
    ],
)
def test_it_rejects_as_many_clones_and_pushes_as_threads(
    tmp_path: Path, threads: str, requests: str, problem: str
) -> None:
    done = start(tmp_path, GAUNTLET_WEB_THREADS=threads, GAUNTLET_MAX_GIT_REQUESTS=requests)
    assert done.returncode != 0
    assert problem in done.stderr


def test_it_rejects_another_number_of_threads_than_the_setting(tmp_path: Path) -> None:
    done = start(tmp_path, "--threads=4")
    assert done.returncode == 1
    assert "gunicorn has 4 threads and GAUNTLET_WEB_THREADS is 16. Leave --threads out" in done.stderr


def test_half_of_the_threads_are_for_clones_and_pushes(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "GAUNTLET_STATE": str(tmp_path), "GAUNTLET_WEB_THREADS": "6"}
    program = "from config.web_server import settings, threads; print(threads, settings.MAX_GIT_REQUESTS)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=configured.ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "6 3\n"
