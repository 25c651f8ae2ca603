"""Adapter: the charts of a match."""

from __future__ import annotations

from evaluation.charts.of_match import (
    BUDGETS,
    DISTRIBUTION,
    QUERIES,
    SUCCESS,
    around,
    distance_against_queries,
    distribution,
    share,
    success_against_distance,
    success_against_queries,
    success_table,
)

__all__ = [
    "BUDGETS",
    "DISTRIBUTION",
    "QUERIES",
    "SUCCESS",
    "around",
    "distance_against_queries",
    "distribution",
    "share",
    "success_against_distance",
    "success_against_queries",
    "success_table",
]
