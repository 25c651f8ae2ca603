"""Adapter: how much slower this host is than the reference machine."""

from __future__ import annotations

from functools import cache

from evaluation.sandbox.host_speed import calibrate


@cache
def calibration() -> float:
    """Return the factor of all time limits on this host, at least 1; measured once per process."""
    return calibrate()
