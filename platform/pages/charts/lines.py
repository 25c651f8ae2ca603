"""Adapter: line charts."""

from __future__ import annotations

from evaluation.charts.lines import COLOURS, BumpChart, Drawn, Label, Line, LineChart

__all__ = ["COLOURS", "BumpChart", "Drawn", "Label", "Line", "LineChart"]
