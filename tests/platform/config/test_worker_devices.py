"""A worker of the class `gpu` has a GPU: without one, players that need it would fail, at the cost of their teams."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.platform.config.test_trust import LOAD, run_program


@pytest.mark.parametrize("devices", ["", " , "])
def test_the_class_gpu_needs_devices(tmp_path: Path, devices: str) -> None:
    done = run_program(LOAD, tmp_path, GAUNTLET_WORKER_CLASS="gpu", GAUNTLET_WORKER_DEVICES=devices)
    assert "ImproperlyConfigured: GAUNTLET_WORKER_CLASS is gpu, and GAUNTLET_WORKER_DEVICES names no GPU" in done.stderr
    assert "such as 0,1" in done.stderr


@pytest.mark.parametrize("environment", [{"GAUNTLET_WORKER_CLASS": "gpu", "GAUNTLET_WORKER_DEVICES": "0,1"}, {}])
def test_others_start(tmp_path: Path, environment: dict[str, str]) -> None:
    assert run_program(LOAD, tmp_path, **environment).returncode == 0
