from __future__ import annotations

from math import sqrt

import pytest

from evaluation.formats.query.tournament.simulation import MEASURES, Finding
from evaluation.formats.query.tournament.simulation_estimates import COMPARED, averages, differences

SCHEDULES = tuple(dict.fromkeys(name for pair in COMPARED for name in pair))


def findings(schedule: str, values: dict[str, list[float]]) -> list[Finding]:
    return [
        Finding(regime, schedule, dict.fromkeys(MEASURES, value)) for regime, each in values.items() for value in each
    ]


def test_the_error_of_an_average_over_regimes_is_that_within_them() -> None:
    # variances 1 in base and 0 in tight, whatever lies between the two
    found = findings("ladder", {"base": [1.0, 2.0, 3.0], "tight": [9.0, 9.0, 9.0]})
    line = averages(found)[0]
    assert (line.regime, line.schedule) == ("all", "ladder")
    assert line.estimates["recall_models"].mean == pytest.approx(5.5)
    assert line.estimates["recall_models"].error == pytest.approx(sqrt(3 * 1.0) / 6)
    assert averages(found, "base")[0].estimates["loss_attacks"].error == pytest.approx(1 / sqrt(3))


def test_differences_are_paired() -> None:
    found = [one for name in SCHEDULES for one in findings(name, {"base": [1.0, 5.0]})]
    found = [one for one in found if one.schedule != "halving"] + findings("halving", {"base": [0.0, 5.5]})
    lines = {line.schedule: line.estimates["recall_models"] for line in differences(found)}
    # 1 and -0.5: mean 0.25, deviation 1.5 / sqrt(2)
    assert lines["ladder-2 - halving"].mean == pytest.approx(0.25)
    assert lines["ladder-2 - halving"].error == pytest.approx(0.75)
    assert lines["ladder-2 - everybody"].error == 0


def test_one_tournament_has_no_standard_error() -> None:
    assert averages(findings("ladder", {"base": [1.0, 2.0], "tight": [1.0]}))[0].estimates["gpu_days"].error is None
