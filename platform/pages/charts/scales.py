"""Adapter: scales of charts."""

from __future__ import annotations

from evaluation.charts.scales import LinearScale, LogScale, RankScale, Scale, TimeScale, linear_to, shares

__all__ = ["LinearScale", "LogScale", "RankScale", "Scale", "TimeScale", "linear_to", "shares"]
