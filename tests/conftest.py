"""Fixtures that tests of several rooms use."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True, scope="session")
def _hear_interrupts() -> None:
    """A shell starts background jobs with SIGINT ignored, and programs that tests start would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
