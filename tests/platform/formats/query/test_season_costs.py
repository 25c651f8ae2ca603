"""The arithmetic of the costs of a season of the query format."""

from __future__ import annotations

import pytest

from competitions.season_costs import CostLine, ExpectedSeason, ExpectedTrack
from evaluation.formats.query.rules import QueryRules
from formats.query.rounds.round_as_engine_values import StageCeiling
from formats.query.season_costs import Boards, Meetings, QueryTimes, stage_meetings

TIMES = QueryTimes(queries=100.0, answer=0.02, own=0.03, start=2.0, audited_images=50.0, stored_bytes=1000.0)
TITLES = {"model": "Models", "untargeted": "Untargeted", "targeted": "Targeted"}


def boards(baselines: dict[str, int]) -> Boards:
    tracks = {
        "model": ExpectedTrack(6, 20, gpu=0.5),
        "untargeted": ExpectedTrack(8, 30),
        "targeted": ExpectedTrack(2, 10),
    }
    return Boards(ExpectedSeason(tracks, {}), QueryRules(piece_samples=10, opponents=5), 25, baselines, TIMES)


def test_a_line_costs_its_queries_starts_and_audits() -> None:
    line = TIMES.line("Round", "", Meetings(matches=4, pieces=8, samples=40, audits=3, audited_pieces=6), gpu=0.25)
    seconds = 40 * 100 * 0.05 + (8 + 3) * 2 + 6 * 50 * 0.02
    assert line == CostLine("Round", "", 4, "matches", 40, 4000.0, seconds, 0.25 * seconds, 40_000.0)


def test_submissions_meet_the_pool_of_baselines_of_which_no_model_is_audited() -> None:
    models, untargeted, targeted = boards({"model": 5, "untargeted": 7}).first_lines(TITLES)
    assert [line.number for line in (models, untargeted, targeted)] == [20 * 5, 30 * 5, 10 * 5]
    assert models.samples == 20 * 5 * 25
    assert models.made_of == "20 submissions x 5 opponents x 25 samples."
    played = 150 * 25 * 100 * 0.05 + 150 * 3 * 2.0
    assert untargeted.seconds == pytest.approx(played)
    assert untargeted.gpu_seconds == 0.0
    assert models.gpu_seconds == pytest.approx(0.5 * models.seconds)


def test_teams_fill_a_pool_and_their_matches_with_each_other_are_counted_once() -> None:
    models, untargeted, _ = boards({"model": 2, "untargeted": 1}).first_lines(TITLES)
    assert models.number == 20 * 5 - 3 * 4
    assert models.made_of.endswith("less 12 matches that are those of attacks, too.")
    assert untargeted.number == 30 * 5
    audits = 30 * 3 * (2.0 + 3 * 50 * 0.02)
    assert untargeted.seconds == pytest.approx(150 * 25 * 100 * 0.05 + 150 * 3 * 2.0 + audits), "of the teams' models"
    assert untargeted.gpu_seconds == pytest.approx(untargeted.seconds * 0.5 * 3 / 5)


def test_pieces_end_with_stages() -> None:
    ends = (2, 5, 8, 10, 20, 21)
    assert stage_meetings(StageCeiling(20, 6, 20, 6, 3), ends) == Meetings(6, 30, 120, 6, 30)
    assert stage_meetings(StageCeiling(21, 4, 1, 0, 2), ends) == Meetings(0, 4, 4, 4, 4)
