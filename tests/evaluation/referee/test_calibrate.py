"""The speed of this host relative to the reference machine."""

from __future__ import annotations

import sys

import pytest

from evaluation.domain.errors import Fault
from evaluation.referee.clock import calibrate


def test_it_works() -> None:
    assert 1.0 <= calibrate() < 50.0


def test_it_rejects_a_host_that_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Fault, match="could not be measured"):
        calibrate()
