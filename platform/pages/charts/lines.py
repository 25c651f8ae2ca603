"""Adapter: line charts."""

from __future__ import annotations

from evaluation.charts.lines import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Drawn, Label, Line, LineChart

__all__ = ["BOTTOM", "HEIGHT", "LEFT", "RIGHT", "TOP", "WIDTH", "Drawn", "Label", "Line", "LineChart"]
