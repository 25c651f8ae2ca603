"""A worker that is stopped returns what it plays to the queue before it would be killed."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from queue import SimpleQueue

import pytest
from pytest_django import Settings

from config import celery
from operations.launcher import kubernetes_job, slurm


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> SimpleQueue[tuple[int, int]]:
    """The signals that this process would have sent."""
    signals: SimpleQueue[tuple[int, int]] = SimpleQueue()
    monkeypatch.setattr("config.celery.os.kill", lambda process, number: signals.put((process, number)))
    return signals


def test_a_stopped_worker_is_interrupted_after_its_time(settings: Settings, sent: SimpleQueue[tuple[int, int]]) -> None:
    """Its processes then give back what they hold: SIGQUIT is Celery's cold shutdown."""
    settings.WORKER_STOP_SECONDS = 0
    celery.return_work_in_time(how="Warm")
    settings.WORKER_STOP_SECONDS = 0.01
    celery.return_work_in_time(how="Cold")
    assert sent.empty()
    celery.return_work_in_time(how="Warm")
    assert sent.get(timeout=30) == (os.getpid(), signal.SIGQUIT)
    assert sent.empty(), "without a time it ends what it plays, and a second signal would kill it"


def test_what_kills_a_worker_leaves_it_time_to_return_its_work(root: Path) -> None:
    """With Compose, systemd, Slurm and Kubernetes."""
    margin = 15
    for name in ("compose.yaml", "compose.worker.yaml"):
        text = (root / name).read_text()
        assert found(r"stop_grace_period: (\d+)s", text) - found(r'STOP_SECONDS: "(\d+)"', text) >= margin
    for name in ("builder", "player"):
        unit = (root / "deploy" / "systemd" / f"gauntlet-{name}.service").read_text()
        assert found(r"TimeoutStopSec=(\d+)", unit) - found(r"STOP_SECONDS=(\d+)", unit) >= margin
        assert "KillMode=mixed\n" in unit, "otherwise all its processes are interrupted at once"
    job = (root / "deploy" / "slurm-worker").read_text()
    assert slurm.WARNING_SECONDS - found(r"STOP_SECONDS=(\d+)", job) >= margin
    assert margin <= kubernetes_job.GRACE_SECONDS - kubernetes_job.STOP_SECONDS


def found(pattern: str, text: str) -> int:
    """Return the number that `pattern` finds."""
    match = re.search(pattern, text)
    assert match is not None, pattern
    return int(match[1])
