"""Tables of the transfer format: matrices by epsilon and over all, success by epsilon, and errors by class."""

from __future__ import annotations

import pytest

from evaluation.formats.transfer.results import NO_LABEL, PairCounts
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.scoring.score_intervals import share_interval
from evaluation.formats.transfer.scoring.scores import TransferStanding
from evaluation.formats.transfer.scoring.success_and_error_tables import (
    ErrorCount,
    GivenLabels,
    accuracy,
    class_errors,
    matrices,
    separated,
    share_text,
    success_by_epsilon,
    success_interval,
)

FGSM = PairCounts("fgsm", "jpeg", targeted=False, images=10, made=10, labelled=8, correct=6)
FGSM_LARGE = PairCounts("fgsm", "jpeg", targeted=False, images=20, made=20, labelled=20, correct=1)
STEP = PairCounts("step", "jpeg", targeted=True, images=10, made=0, labelled=0, correct=0)
STEP_LARGE = PairCounts("step", "jpeg", targeted=True, images=20, made=20, labelled=20, correct=4, hits=15)
BY_EPSILON = {16: [FGSM_LARGE, STEP_LARGE], 4: [FGSM, STEP]}


def test_counts_are_summed_over_all_epsilons_and_kept_for_each() -> None:
    both, small, large = matrices(BY_EPSILON, attacks=("step", "fgsm"), defences=("jpeg",))
    assert [(each.epsilon, each.images) for each in (both, small, large)] == [(None, 30), (4, 10), (16, 20)]
    assert both.attacks == ("step", "fgsm")
    assert both.pairs["fgsm", "jpeg"] == PairCounts("fgsm", "jpeg", False, 30, 30, 28, 7)
    assert both.pairs["step", "jpeg"] == PairCounts("step", "jpeg", True, 30, 20, 20, 4, 15)
    assert small.pairs["fgsm", "jpeg"] is FGSM


def test_one_epsilon_has_one_matrix() -> None:
    (only,) = matrices({8: [FGSM]}, attacks=["fgsm"], defences=["jpeg"])
    assert only.epsilon == 8


def test_accuracy_counts_what_was_labelled() -> None:
    assert accuracy(FGSM) == 6 / 8
    assert accuracy(STEP) is None


def test_success_by_epsilon_counts_the_points_of_the_track() -> None:
    assert success_by_epsilon(BY_EPSILON) == {"fgsm": [(4, 2 / 8), (16, 19 / 20)], "step": [(4, 0.0), (16, 15 / 20)]}


def test_a_success_that_no_defence_could_see_is_unknown() -> None:
    unseen = PairCounts("fgsm", "jpeg", targeted=False, images=10, made=10, labelled=0, correct=0)
    assert success_by_epsilon({4: [unseen]}) == {"fgsm": [(4, None)]}


def test_a_share_has_its_interval() -> None:
    assert share_text(0.75, 16) == "75 % (51 to 90)"
    assert share_text(1.0, 20) == "100 % (84 to 100)"
    assert success_interval(FGSM) == share_interval(2 / 8, 8)
    assert success_interval(STEP) == share_interval(0.0, 10)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], ""),
        ([(0.9, 1)], ""),
        ([(0.9, None), (0.8, None)], ""),
        ([(0.9, 1), (0.8, 1)], "With 50 images, no two scores are separated."),
        ([(0.9, 1), (0.8, 2), (None, None)], "With 50 images, scores closer than about 0.100 are not separated."),
    ],
)
def test_a_board_says_what_it_separates(rows: list[tuple[float | None, int | None]], text: str) -> None:
    track = TransferTrack.DEFENCE
    standings = [
        TransferStanding(place, f"d{place}", track, score, 0, None, 1.0, 1, None, rank_low=low, rank_high=9)
        for place, (score, low) in enumerate(rows, 1)
    ]
    assert separated(standings, 50) == text


def test_errors_of_a_class_are_counted_by_defence() -> None:
    first, second = class_errors(
        [
            GivenLabels("jpeg", labels=[3, 4, 4, NO_LABEL], truth=[3, 3, 5, 5]),
            GivenLabels("median", labels=[3, 3, 6, 6], truth=[3, 3, 5, 5]),
        ]
    )
    assert (first.label, first.total) == (5, ErrorCount(labelled=3, wrong=3, confused=6))
    assert first.by_defence == {"jpeg": ErrorCount(1, 1, 4), "median": ErrorCount(2, 2, 6)}
    assert (second.label, second.total) == (3, ErrorCount(labelled=4, wrong=1, confused=4))
    assert second.by_defence["median"] == ErrorCount(2, 0, None)
    assert second.by_defence["median"].share == 0.0


def test_without_labels_there_are_no_errors() -> None:
    assert class_errors([GivenLabels("jpeg", labels=[NO_LABEL], truth=[1])]) == []
