"""Adapter: histograms."""

from __future__ import annotations

from evaluation.charts.bars import BINS, Bar, Histogram, histogram

__all__ = ["BINS", "Bar", "Histogram", "histogram"]
