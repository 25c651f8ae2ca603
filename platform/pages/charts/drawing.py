"""Adapter: charts as SVG."""

from __future__ import annotations

from evaluation.charts.drawing import svg

__all__ = ["svg"]
