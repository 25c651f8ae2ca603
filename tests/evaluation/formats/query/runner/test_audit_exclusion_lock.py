"""Locks of a host: no audit beside an instance, and no instance beside an audit."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.formats.query.runner.audit_exclusion_lock import InstanceLock, no_instance_of

MODEL = Program(name="model", command=("true",), digest="sha256:one")
OTHER = Program(name="other", command=("true",), digest="sha256:two")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_an_audit_does_not_begin_beside_an_instance() -> None:
    first, second = InstanceLock(MODEL), InstanceLock(MODEL)
    first.release()
    with (
        pytest.raises(Fault, match="an instance of model, or another player of its team, runs on this host"),
        no_instance_of(MODEL, wait=False),
    ):
        pass
    with no_instance_of(OTHER, wait=False):
        pass
    second.release()
    with no_instance_of(MODEL, wait=False):
        pass


def test_an_audit_does_not_begin_beside_another_player_of_the_team() -> None:
    model, attack, foreign = (replace(MODEL, team="7"), replace(OTHER, team="7"), replace(OTHER, team="8"))
    lock = InstanceLock(attack)
    with pytest.raises(Fault, match="another player of its team, runs"), no_instance_of(model, wait=False):
        pass
    lock.release()
    with no_instance_of(model, wait=False):
        InstanceLock(foreign).release()


def test_nobody_waits_for_one_lock_while_holding_the_other() -> None:
    """A match holds its team's lock and starts the audited model again; the audit waits for the team."""
    model, attack = replace(MODEL, team="7"), replace(OTHER, team="7")
    playing = InstanceLock(attack)
    audited = threading.Event()

    def audit() -> None:
        with no_instance_of(model):
            audited.set()

    thread = threading.Thread(target=audit)
    thread.start()
    for _ in range(5):
        InstanceLock(model).release()
    assert not audited.is_set()
    playing.release()
    thread.join(10.0)
    assert audited.is_set()


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
