"""The arithmetic of the costs of a season that all formats share."""

from __future__ import annotations

import pytest

from competitions.season_costs import CostLine, SeasonCosts, season_submissions, share_of_either
from competitions.season_costs_page import row_of


@pytest.mark.parametrize(
    ("teams", "each_day", "days", "expected"),
    [(10, 5.0, 60, 3000), (10, 0.0, 60, 10), (3, 0.11, 10, 4), (0, 5.0, 60, 0)],
)
def test_every_team_submits_at_least_once(teams: int, each_day: float, days: int, expected: int) -> None:
    assert season_submissions(teams, each_day, days) == expected


def test_a_match_uses_a_gpu_if_one_of_its_players_does() -> None:
    assert share_of_either(0.5, 0.0) == 0.5
    assert share_of_either(0.5, 0.2) == pytest.approx(0.6)
    assert share_of_either(1.0, 0.3) == 1.0


def test_workers_share_a_line_and_its_part_on_gpus() -> None:
    played = CostLine("Round", "", 4, "matches", 40, 400.0, 7200.0, 3600.0, 5.0)
    built = CostLine("Builds", "", 2, "builds", seconds=100.0)
    costs = SeasonCosts([played, built], workers=4, gpu_workers=1)
    assert costs.wall_seconds(played) == 3600.0, "the one GPU takes longer than all four together"
    assert costs.wall_seconds(built) == 25.0
    assert costs.total == CostLine("In total", "", 6, "items", 40, 400.0, 7300.0, 3600.0, 5.0)
    assert SeasonCosts([played], workers=4, gpu_workers=0).wall_seconds(played) is None
    assert SeasonCosts([built], workers=0, gpu_workers=0).wall_seconds(built) is None


def test_a_line_shows_what_applies_to_it() -> None:
    costs = SeasonCosts([], workers=2, gpu_workers=0)
    built = row_of(CostLine("Builds", "Two.", 2, "builds", seconds=4500.0), costs)
    assert (built.number, built.samples, built.queries) == ("2 builds", "", "")
    assert (built.processor_hours, built.gpu_hours, built.wall_time, built.stored) == ("1.25", "", "37 min 30 s", "")
    played = row_of(CostLine("Round", "", 0, "matches", 4000, 4e6, 1e7, 5e6, 2e6), costs)
    assert (played.number, played.samples, played.queries) == ("", "4,000", "4,000,000")
    assert (played.processor_hours, played.gpu_hours, played.wall_time) == ("2,778", "1,389", "")
