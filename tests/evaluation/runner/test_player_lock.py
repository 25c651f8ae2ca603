"""Locks of a host: no audit beside an instance, and no instance beside an audit."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.runner.player_lock import InstanceLock, no_instance_of

MODEL = Program(name="model", command=("true",), digest="sha256:one")
OTHER = Program(name="other", command=("true",), digest="sha256:two")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_an_audit_does_not_begin_beside_an_instance() -> None:
    first, second = InstanceLock(MODEL), InstanceLock(MODEL)
    first.release()
    with pytest.raises(Fault, match="an instance of model runs on this host"), no_instance_of(MODEL, wait=False):
        pass
    with no_instance_of(OTHER, wait=False):
        pass
    second.release()
    with no_instance_of(MODEL, wait=False):
        pass


def test_an_instance_waits_for_the_end_of_an_audit() -> None:
    started = threading.Event()

    def play() -> None:
        lock = InstanceLock(MODEL)
        started.set()
        lock.release()

    thread = threading.Thread(target=play)
    with no_instance_of(MODEL):
        thread.start()
        assert not started.wait(0.2)
    thread.join(10.0)
    assert started.is_set()


def test_an_audit_waits_for_the_end_of_an_instance() -> None:
    lock = InstanceLock(MODEL)
    begun = threading.Event()

    def audit() -> None:
        with no_instance_of(MODEL):
            begun.set()

    thread = threading.Thread(target=audit)
    thread.start()
    assert not begun.wait(0.2)
    lock.release()
    thread.join(10.0)
    assert begun.is_set()
