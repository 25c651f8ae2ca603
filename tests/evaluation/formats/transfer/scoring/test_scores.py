"""Scores of the transfer format: equations 6 to 10 of the paper, its tables, and opponents that fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import Opponents, TransferTrack
from evaluation.formats.transfer.scoring.scores import TransferStanding, standings

# name, score, raw score and worst score of tables 1 to 3 (Kurakin et al. 2018)
DEFENCES = [
    ("TSAIL", "0.953164", 691044, 0.1184),
    ("iyswim", "0.923524", 669555, 0.2520),
    ("Anil Thomas", "0.914840", 663259, 0.2666),
    ("erko", "0.911961", 661172, 0.2920),
    ("Stanford & Suns", "0.910593", 660180, 0.0682),
    ("Rafael Moraes", "0.871739", 632011, 0.5358),
    ("Baseline (Ens. adv. ir_v2)", "0.772908", 560358, 0.0186),
]
ATTACKS = [
    ("TSAIL", "0.781644", 410363, 0.1364),
    ("Sangxia", "0.776855", 407849, 0.3412),
    ("Stanford & Sun", "0.774025", 406363, 0.2722),
    ("iwiwi", "0.768981", 403715, 0.1352),
    ("toshi_k", "0.755598", 396689, 0.3322),
    ("Baseline (FGSM)", "0.346400", 181860, 0.0174),
]
TARGETED = [
    ("TSAIL", "0.402211", 211161, 0.0),
    ("Sangxia", "0.368773", 193606, 0.0),
    ("FatFingers", "0.368029", 193215, 0.0),
    ("Anil Thomas", "0.364552", 191390, 0.0),
    ("WNP", "0.347935", 182666, 0.0),
    ("Baseline (Iter. T. C. 20)", "0.199773", 104881, 0.0),
]
IMAGES, COMPLETE_ATTACKS, COMPLETE_DEFENCES = 5000, 145, 105


def spread(points: int, opponents: int, worst: float) -> list[int]:
    """Return `points` spread over `opponents`, of which the first is the worst."""
    first = round(worst * IMAGES)
    share, rest = divmod(points - first, opponents - 1)
    return [first] + [share + (index < rest) for index in range(opponents - 1)]


def pair(attack: str, defence: str, points: int, track: TransferTrack) -> PairCounts:
    """Return a complete pair in which a submission to `track` gets `points`."""
    targeted = track is TransferTrack.TARGETED_ATTACK
    correct = points if track is TransferTrack.DEFENCE else 0 if targeted else IMAGES - points
    return PairCounts(attack, defence, targeted, IMAGES, IMAGES, IMAGES, correct, points if targeted else 0)


def ranked(pairs: list[PairCounts], track: TransferTrack, opponents: Opponents) -> list[TransferStanding]:
    return standings(pairs, track, opponents=opponents, seconds={})


@pytest.mark.parametrize("rule", Opponents)
@pytest.mark.parametrize(
    ("track", "table", "opponents"),
    [
        (TransferTrack.DEFENCE, DEFENCES, COMPLETE_ATTACKS),
        (TransferTrack.ATTACK, ATTACKS, COMPLETE_DEFENCES),
        (TransferTrack.TARGETED_ATTACK, TARGETED, COMPLETE_DEFENCES),
    ],
)
def test_published_raw_scores_give_the_published_scores_and_ranks(
    track: TransferTrack, table: list[tuple[str, str, int, float]], opponents: int, rule: Opponents
) -> None:
    """145 attacks and 105 defences were complete."""
    defending = track is TransferTrack.DEFENCE
    pairs = [
        pair(*((f"attack {index}", name) if defending else (name, f"defence {index}")), points, track)
        for name, _, raw, worst in table
        for index, points in enumerate(spread(raw, opponents, worst))
    ]
    rows = ranked(pairs, track, rule)
    assert [(row.name, f"{row.score:.6f}", row.raw, row.worst) for row in rows] == table
    assert [row.rank for row in rows] == list(range(1, len(table) + 1))
    assert {row.opponents for row in rows} == {opponents}


def test_the_normalising_constants_are_those_of_the_paper() -> None:
    assert (IMAGES * COMPLETE_ATTACKS, IMAGES * COMPLETE_DEFENCES) == (725_000, 525_000)
    assert f"{691_044 / 725_000:.6f} {410_363 / 525_000:.6f}" == "0.953164 0.781644"


CRASHED = [
    # 10 images: "half" made 5, "late" labelled 4 of what it got
    PairCounts("whole", "firm", False, 10, 10, 10, 6),
    PairCounts("whole", "late", False, 10, 10, 4, 1),
    PairCounts("half", "firm", False, 10, 5, 5, 5),
    PairCounts("half", "late", False, 10, 5, 2, 0),
]


def test_a_partial_opponent_counts_by_its_coverage() -> None:
    attacks = {row.name: row for row in ranked(CRASHED, TransferTrack.ATTACK, Opponents.COVERAGE)}
    # firm with weight 1: 4 of 10; late with weight 6 / 15: 3 of the 4 that it labelled
    assert attacks["whole"].score == pytest.approx((1 * 4 / 10 + 0.4 * 3 / 4) / 1.4)
    # of its 10 images, half made 5: the others are without a point, and late's three omissions are not counted
    assert attacks["half"].score == pytest.approx((1 * 0 / 10 + 0.4 * 2 / 7) / 1.4)
    assert (attacks["half"].coverage, attacks["half"].raw) == (0.5, 2)
    defences = {row.name: row for row in ranked(CRASHED, TransferTrack.DEFENCE, Opponents.COVERAGE)}
    assert defences["firm"].score == pytest.approx((6 + 5) / 15)
    assert defences["late"].score == pytest.approx((1 + 0) / 15)


def test_by_the_rule_of_2017_only_complete_opponents_count() -> None:
    attacks = {row.name: row for row in ranked(CRASHED, TransferTrack.ATTACK, Opponents.COMPLETE)}
    assert {name: (row.score, row.opponents) for name, row in attacks.items()} == {"whole": (0.4, 1), "half": (0.0, 1)}
    defences = {row.name: row for row in ranked(CRASHED, TransferTrack.DEFENCE, Opponents.COMPLETE)}
    assert {name: (row.score, row.raw) for name, row in defences.items()} == {"firm": (0.6, 6), "late": (0.1, 1)}


def test_a_failure_of_the_opponent_does_not_lower_the_worst_score() -> None:
    attacks = {row.name: row for row in ranked(CRASHED, TransferTrack.ATTACK, Opponents.COVERAGE)}
    assert attacks["whole"].worst == 0.4
    defences = {row.name: row for row in ranked(CRASHED, TransferTrack.DEFENCE, Opponents.COVERAGE)}
    assert defences["firm"].worst == 0.6


def test_without_an_opponent_that_counts_there_is_no_score() -> None:
    pairs = [PairCounts("any", "silent", False, 10, 10, 0, 0)]
    for rule in Opponents:
        (attack,) = ranked(pairs, TransferTrack.ATTACK, rule)
        assert (attack.score, attack.worst, attack.opponents) == (None, None, 0)
    (defence,) = ranked(pairs, TransferTrack.DEFENCE, Opponents.COVERAGE)
    assert (defence.score, defence.coverage) == (0.0, 0.0)


def test_equal_scores_share_a_rank() -> None:
    pairs = [PairCounts(name, "firm", False, 10, 10, 10, correct) for name, correct in [("b", 5), ("a", 5), ("c", 9)]]
    rows = ranked(pairs, TransferTrack.ATTACK, Opponents.COVERAGE)
    assert [(row.rank, row.name) for row in rows] == [(1, "a"), (1, "b"), (3, "c")]


def test_the_time_is_the_median_of_the_batches() -> None:
    pairs = [PairCounts("a", "d", False, 10, 10, 10, 5)]
    (row,) = standings(pairs, TransferTrack.ATTACK, opponents=Opponents.COVERAGE, seconds={"a": [1.0, 9.0, 4.0]})
    assert row.median_seconds == 4.0


@st.composite
def counts(draw: st.DrawFn) -> list[PairCounts]:
    """Draw the pairs of three attacks and three defences, of which each may fail in any way."""
    images = draw(st.integers(1, 20))
    made = {attack: draw(st.integers(0, images)) for attack in "abc"}
    pairs = []
    for attack, number in made.items():
        for defence in "xyz":
            labelled = draw(st.integers(0, number))
            correct = draw(st.integers(0, labelled))
            hits = draw(st.integers(0, labelled - correct)) if attack == "c" else 0
            pairs.append(PairCounts(attack, defence, attack == "c", images, number, labelled, correct, hits))
    return pairs


@given(counts(), st.sampled_from(Opponents), st.sampled_from(TransferTrack))
def test_every_score_is_from_0_to_1(pairs: list[PairCounts], rule: Opponents, track: TransferTrack) -> None:
    for row in ranked(pairs, track, rule):
        for value in (row.score, row.worst, row.coverage):
            assert value is None or 0 <= value <= 1


@pytest.mark.parametrize("numbers", [(10, 11, 0, 0, 0), (10, 5, 6, 0, 0), (10, 5, 5, 4, 2)])
def test_it_rejects_counts_that_do_not_fit(numbers: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        PairCounts("a", "d", True, *numbers)
