"""The speed of this host relative to the reference machine."""

from __future__ import annotations

import sys

import pytest

from evaluation.domain.errors import Fault
from evaluation.sandbox import host_speed
from evaluation.sandbox.host_speed import calibrate


def test_a_host_slower_than_the_reference_gives_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_speed, "REFERENCE_SECONDS", 1e-9)  # faster than any host is
    assert calibrate() > 100.0


def test_a_host_faster_than_the_reference_gives_the_time_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_speed, "REFERENCE_SECONDS", 1e9)  # slower than any host is
    assert calibrate() == 1.0


def test_it_rejects_a_host_that_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Fault, match="could not be measured"):
        calibrate()
