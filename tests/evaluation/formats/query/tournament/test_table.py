from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import AuditReport, MatchResult, Outcome, PieceResult, RefereedSample, Trace
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.tournament.leaderboards import boards, matrices

WORST = 50.0


def match(
    track: TrackName, attack: str, model: str, distances: Sequence[float], rules: QueryRules | None = None
) -> MatchResult:
    """One match; a distance of 0 is a clean mistake, the worst case a failure. Pieces of two samples."""
    target = 3 if track is TrackName.TARGETED else None
    rows = []
    for number, distance in enumerate(distances):
        outcome = {0.0: Outcome.CLEAN_WRONG, WORST: Outcome.FAILED}.get(distance, Outcome.ADVERSARIAL)
        reason = {Outcome.CLEAN_WRONG: Reason.MISCLASSIFIED, Outcome.FAILED: Reason.NO_ADVERSARIAL}.get(outcome)
        rows.append(RefereedSample(number, 1, target, outcome, distance, WORST, 10 * number, 0.5, reason))
    none = np.zeros(0, np.uint16)
    trace = Trace(none, none, np.zeros(0, np.uint32), np.zeros(0, np.int16), np.zeros(0, np.float32))
    pieces = tuple(
        PieceResult(tuple(rows[k : k + 2]), np.zeros((len(rows[k : k + 2]), 1, 1, 3), np.uint8), trace, 1.0)
        for k in range(0, len(rows), 2)
    )
    return MatchResult(rules or QueryRules(), track, model, attack, pieces, AuditReport())


@pytest.fixture
def matches() -> list[MatchResult]:
    return [
        match(TrackName.UNTARGETED, "noise", "plain", [4.0, 2.0, 9.0]),
        match(TrackName.UNTARGETED, "noise", "robust", [8.0, 6.0, WORST]),
        match(TrackName.UNTARGETED, "walk", "plain", [1.0, 3.0, 2.0]),
        match(TrackName.UNTARGETED, "walk", "robust", [5.0, 7.0, 0.0]),
        match(TrackName.TARGETED, "blend", "plain", [10.0, 11.0, 12.0]),
        match(TrackName.TARGETED, "blend", "robust", [20.0, WORST, 30.0]),
    ]


def test_boards_have_the_rank_score_and_worst_opponent_of_each_player(matches: list[MatchResult]) -> None:
    models, untargeted, targeted = boards(matches)
    assert [board.track for board in (models, untargeted, targeted)] == list(TrackName)

    assert models.opponents == ("noise", "walk")
    # robust: minima 5 6 0, median 5; plain: minima 1 2 2, median 2; larger is better
    assert [(row.rank, row.name, row.score.value) for row in models.rows] == [(1, "robust", 5.0), (2, "plain", 2.0)]
    # medians over single attacks: robust 8 and 5, plain 4 and 2
    assert [row.score.per_opponent for row in models.rows] == [(8.0, 5.0), (4.0, 2.0)]
    assert [row.worst_opponent for row in models.rows] == ["walk", "walk"]
    assert [row.score.failures for row in models.rows] == [1, 0]

    assert untargeted.opponents == ("plain", "robust")
    # walk: 0 1 2 3 5 7, median 2.5; noise: 2 4 6 8 9 50, median 7; smaller is better
    assert [(row.rank, row.name, row.score.value) for row in untargeted.rows] == [(1, "walk", 2.5), (2, "noise", 7.0)]
    # medians against plain and robust: walk 2 and 5, noise 4 and 8
    assert [row.worst_opponent for row in untargeted.rows] == ["robust", "robust"]
    assert [row.score.failures for row in untargeted.rows] == [0, 1]
    assert untargeted.rows[0].score.median_seconds == 0.5
    # 0, 10 and 20 queries, twice
    assert untargeted.rows[0].score.mean_queries == 10

    # blend: 10 11 12 20 30 50, median (12 + 20) / 2
    assert [(row.rank, row.name, row.score.value) for row in targeted.rows] == [(1, "blend", 16.0)]


def test_the_matrix_holds_medians_of_single_matches(matches: list[MatchResult]) -> None:
    untargeted, targeted = matrices(matches)
    assert (untargeted.attacks, untargeted.models) == (("noise", "walk"), ("plain", "robust"))
    assert untargeted.medians == ((4.0, 8.0), (2.0, 5.0))
    assert (targeted.attacks, targeted.medians) == (("blend",), ((11.0, 30.0),))


def test_the_order_of_matches_does_not_matter(matches: list[MatchResult]) -> None:
    shuffled = random.Random(3).sample(matches, len(matches))
    assert boards(shuffled) == boards(matches)
    assert matrices(shuffled) == matrices(matches)


def test_a_tournament_of_one_track(matches: list[MatchResult]) -> None:
    assert [board.track for board in boards(matches[:4])] == [TrackName.MODEL, TrackName.UNTARGETED]
    assert [board.track for board in boards(matches[4:])] == [TrackName.TARGETED]
    assert boards([]) == ()
    assert matrices([]) == ()


def test_equal_players_share_a_rank(matches: list[MatchResult]) -> None:
    twins = [*matches[:2], *(replace(match, attack="hiss") for match in matches[:2])]
    assert [(row.rank, row.name) for row in boards(twins)[1].rows] == [(1, "hiss"), (1, "noise")]


@pytest.mark.parametrize("gap", range(6))
def test_it_rejects_a_missing_match(matches: list[MatchResult], gap: int) -> None:
    lost = matches.pop(gap)
    with pytest.raises(ValueError, match=f"{lost.attack} against {lost.model} .{lost.track}. is missing"):
        boards(matches)


def test_it_rejects_a_match_that_is_there_twice(matches: list[MatchResult]) -> None:
    with pytest.raises(ValueError, match=r"noise against plain \(untargeted\) is listed twice"):
        boards([*matches, matches[0]])


def test_it_rejects_other_samples(matches: list[MatchResult]) -> None:
    matches[3] = match(TrackName.UNTARGETED, "walk", "robust", [5.0, 7.0])
    with pytest.raises(ValueError, match=r"walk against robust .* over the same samples"):
        matrices(matches)


def test_it_rejects_other_rules(matches: list[MatchResult]) -> None:
    matches[2] = match(TrackName.UNTARGETED, "walk", "plain", [1.0, 3.0, 2.0], QueryRules(query_budget=10))
    with pytest.raises(ValueError, match=r"walk against plain .* under other rules"):
        boards(matches)
