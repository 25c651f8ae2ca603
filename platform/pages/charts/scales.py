"""Adapter: scales of charts."""

from __future__ import annotations

from evaluation.charts.scales import LinearScale, LogScale, Scale, linear_to, shares

__all__ = ["LinearScale", "LogScale", "Scale", "linear_to", "shares"]
