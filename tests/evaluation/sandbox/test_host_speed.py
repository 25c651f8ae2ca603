"""The speed of this host relative to the reference machine."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pytest

from evaluation.domain.errors import Fault
from evaluation.sandbox import host_speed
from evaluation.sandbox.host_speed import calibrate, fastest


def test_a_host_slower_than_the_reference_gives_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_speed, "REFERENCE_SECONDS", 1e-9)  # faster than any host is
    assert calibrate() > 100.0


def test_a_host_faster_than_the_reference_gives_the_time_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_speed, "REFERENCE_SECONDS", 1e9)  # slower than any host is
    assert calibrate() == 1.0


def test_the_fastest_run_counts_and_one_as_fast_as_the_reference_is_the_last() -> None:
    assert fastest(iter([4.0, 3.0, 5.0, 2.0]).__next__, 3, reference=1.0) == 3.0
    assert fastest(iter([4.0, 1.0]).__next__, 3, reference=1.0) == 1.0


def test_it_rejects_a_host_that_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Fault, match="could not be measured"):
        calibrate()


def test_time_in_which_others_have_the_processor_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def delayed(*arrays: Any) -> Any:
        time.sleep(0.1)
        return arrays[0]

    monkeypatch.setattr(np, "maximum", delayed)
    assert host_speed.measure() < 0.4  # half of what the eight pauses take by the clock


def test_it_rejects_a_device_that_is_not_there() -> None:
    with pytest.raises(Fault, match=r"the speed of GPU 77 could not be measured: .*GAUNTLET_WORKER_DEVICES"):
        calibrate("77")
