"""Adapter: the shared axis of the interval bars of a table."""

from __future__ import annotations

from evaluation.charts.axis import Axis, Tick, axis_to

__all__ = ["Axis", "Tick", "axis_to"]
