"""A match that is interrupted leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.formats.query.catalogue import find_baseline
from evaluation.sandbox.process_register import MARK


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A register of our own, so that other matches on this host are not seen."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "gauntlet" / "processes"


@pytest.fixture
def playing(state: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A `gauntlet play` in which both players run."""
    model, attack = (str(find_baseline(name).repository()) for name in ("numpy-classifier", "boundary"))
    command = [sys.executable, "-m", "evaluation", "play", "--track", "untargeted", "--samples", "200"]
    command += ["--model", model, "--attack", attack, "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_until(lambda: len(list(state.glob("*.json"))) == 2)
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_until(true: Any) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _running(entries: list[dict[str, Any]]) -> list[Path]:
    """The processes of these runs."""
    marks = {f"{MARK}={entry['mark']}".encode() for entry in entries}
    return [place for place in Path("/proc").glob("[0-9]*") if not marks.isdisjoint(_environment_of(place))]


def _environment_of(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


def _entries(state: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in state.glob("*.json")]


@pytest.mark.parametrize("seconds", [0.0, 1.2], ids=["while they start", "while they play"])
def test_ctrl_c_ends_both_players(playing: subprocess.Popen[bytes], state: Path, seconds: float) -> None:
    entries = _entries(state)
    assert _running(entries)
    time.sleep(seconds)
    os.kill(playing.pid, signal.SIGINT)
    assert playing.wait(timeout=30) == 130
    _wait_until(lambda: _running(entries) == [])  # the kernel of a busy host takes a moment
    assert _entries(state) == []
    assert not any(Path(entry["socket_directory"]).exists() for entry in entries)


def test_a_sweep_ends_what_a_killed_runner_left(playing: subprocess.Popen[bytes], state: Path) -> None:
    entries = _entries(state)
    os.kill(playing.pid, signal.SIGKILL)
    playing.wait(timeout=30)
    sweep = "from evaluation.sandbox.process_sandbox import ProcessSandbox; print(ProcessSandbox().sweep())"
    swept = subprocess.run([sys.executable, "-c", sweep], capture_output=True, text=True, check=True)
    assert swept.stdout.strip() == "2"
    _wait_until(lambda: _running(entries) == [])
    assert _entries(state) == []
    assert not any(Path(entry["socket_directory"]).exists() for entry in entries)
