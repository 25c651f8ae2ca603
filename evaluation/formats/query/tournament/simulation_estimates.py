"""Means of simulated tournaments with standard errors, and paired differences between schedules."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.formats.query.tournament.simulation import MEASURES, Finding

COMPARED = (
    ("ladder-2", "everybody"),
    ("ladder-2", "halving"),
    ("halving", "everybody"),
    ("ladder", "halving"),
    ("ladder-guard", "ladder"),
)
"""The pairs of schedules that are compared, the first with the second."""


@dataclass(frozen=True)
class MeanEstimate:
    """A mean over tournaments and its standard error, None where a regime has one tournament only."""

    mean: float
    error: float | None


@dataclass(frozen=True)
class ScheduleEstimate:
    """The mean cost and result of a schedule, or of a difference (`schedule` is `FIRST - SECOND`)."""

    regime: str
    schedule: str
    estimates: Mapping[str, MeanEstimate]


def averages(findings: Sequence[Finding], regime: str | None = None) -> list[ScheduleEstimate]:
    """Return one line per schedule over all regimes (called `all`), or over one."""
    by_schedule = _by_schedule(findings, regime)
    return [
        _line(regime, schedule, [(one.regime, one.measures) for one in found])
        for schedule, found in by_schedule.items()
    ]


def differences(findings: Sequence[Finding], regime: str | None = None) -> list[ScheduleEstimate]:
    """Return one line per comparison. Both schedules played the same tournaments, so their errors are paired."""
    by_schedule = _by_schedule(findings, regime)
    lines = []
    for first, second in COMPARED:
        pairs = zip(by_schedule[first], by_schedule[second], strict=True)
        gaps = [
            (one.regime, {name: one.measures[name] - other.measures[name] for name in MEASURES}) for one, other in pairs
        ]
        lines.append(_line(regime, f"{first} - {second}", gaps))
    return lines


def _line(regime: str | None, schedule: str, values: Sequence[tuple[str, Mapping[str, float]]]) -> ScheduleEstimate:
    """Return the line of (regime, measures) of each tournament."""
    estimates = {name: _estimate([(of, measures[name]) for of, measures in values]) for name in MEASURES}
    return ScheduleEstimate(regime or "all", schedule, estimates)


def _by_schedule(findings: Sequence[Finding], regime: str | None) -> Mapping[str, Sequence[Finding]]:
    chosen = [finding for finding in findings if regime in (None, finding.regime)]
    names = dict.fromkeys(finding.schedule for finding in chosen)
    return {name: [finding for finding in chosen if finding.schedule == name] for name in names}


def _estimate(values: Sequence[tuple[str, float]]) -> MeanEstimate:
    """Return the estimate of (regime, value). Regimes are fixed, so only the spread within each is an error."""
    strata: dict[str, list[float]] = {}
    for regime, value in values:
        strata.setdefault(regime, []).append(value)
    total = len(values)
    mean = math.fsum(value for _, value in values) / total
    if any(len(stratum) < 2 for stratum in strata.values()):
        return MeanEstimate(mean, None)
    return MeanEstimate(mean, math.sqrt(sum(len(one) * statistics.variance(one) for one in strata.values())) / total)
