"""Images that a defence labels again: which they are, and what their labels tell."""

from __future__ import annotations

import random
from itertools import pairwise
from math import comb

import numpy as np
import pytest

from evaluation.formats.transfer.results import NO_LABEL, REPEAT_LEVEL, RepeatCounts
from evaluation.formats.transfer.runner.repeated_images import (
    LabelledImages,
    count_changes,
    file_names,
    repeats_due,
)

RUNS = {f"run {number}": (number % 3, [True, True, False, True]) for number in range(6)}
"""Two runs of each of three batches, whose third image has no label."""

LABELLED = LabelledImages(RUNS)


def test_every_image_with_a_label_may_be_drawn_and_the_seed_decides() -> None:
    drawn = LABELLED.draw(9, "seed")
    assert {(each.batch, each.index) for each in drawn} == {(batch, index) for batch in range(3) for index in (0, 1, 3)}
    assert all(RUNS[each.run][0] == each.batch for each in drawn)
    assert drawn == LABELLED.draw(9, "seed")
    assert drawn != LABELLED.draw(9, "another seed")


def test_no_sample_is_drawn_twice_and_no_more_than_there_are() -> None:
    assert len(LABELLED.draw(4, 1)) == 4
    assert len(LABELLED.draw(100, 1)) == 9
    assert LabelledImages({"run": (0, [False])}).draw(5, 1) == ()


def test_only_runs_that_labelled_an_image_are_drawn_for_it() -> None:
    labelled = LabelledImages({"whole": (0, (True, True, True)), "partial": (0, (False, True)), "nothing": (0, ())})
    drawn = {(each.index, each.run) for seed in range(20) for each in labelled.draw(3, seed)}
    assert drawn == {(0, "whole"), (1, "whole"), (1, "partial"), (2, "whole")}


def test_both_runs_of_a_batch_are_drawn_from() -> None:
    runs = {each.run for seed in range(20) for each in LABELLED.draw(9, seed)}
    assert runs == set(RUNS)


@pytest.mark.parametrize(("runs", "batches"), [(0, 0), (1, 1), (20, 1), (21, 2), (300, 15)])
def test_a_twentieth_of_the_runs_is_repeated(runs: int, batches: int) -> None:
    assert repeats_due(runs) == batches


def test_names_are_distinct_and_follow_from_the_seed() -> None:
    assert len(set(file_names(100, "seed"))) == 100
    assert file_names(3, "seed") == file_names(3, "seed")
    assert not set(file_names(100, "seed")) & set(file_names(100, "another"))


def test_changes_are_counted_by_what_they_cost() -> None:
    before, now = np.array([1, 1, 2, 3, NO_LABEL], np.int16), np.array([1, 4, 1, 5, 1], np.int16)
    assert count_changes(before, now, np.ones(5, np.int16)) == RepeatCounts(5, changed=4, lost=1, gained=2)


def test_a_random_defence_is_not_marked() -> None:
    """It loses as many true labels as it gains: fewer than one of a thousand is marked."""
    rng = random.Random(0)
    marked = 0
    for _ in range(2000):
        lost = sum(rng.random() < 0.5 for _ in range(60))
        marked += RepeatCounts(200, 60, lost, 60 - lost).inconsistent
    assert marked <= 2000 * REPEAT_LEVEL * 3


def test_a_defence_that_was_right_more_often_before_is_marked() -> None:
    assert not RepeatCounts(100, 9, lost=9, gained=0).inconsistent
    assert RepeatCounts(100, 10, lost=10, gained=0).inconsistent
    assert RepeatCounts(400, 60, lost=45, gained=15).inconsistent
    assert not RepeatCounts(400, 60, lost=15, gained=45).inconsistent
    assert RepeatCounts().level == 1.0


def test_more_losses_are_never_weaker_evidence() -> None:
    levels = [RepeatCounts(100, 20, lost, 20 - lost).level for lost in range(21)]
    assert all(more <= fewer for fewer, more in pairwise(levels))


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (1, 0), (0, 1), (3, 5), (45, 15), (510, 490)])
def test_the_level_is_that_of_the_sign_test(lost: int, gained: int) -> None:
    either = lost + gained
    level = RepeatCounts(1000, either, lost, gained).level
    assert level == pytest.approx(sum(comb(either, count) for count in range(lost, either + 1)) / 2.0**either)


@pytest.mark.parametrize("either", [1024, 1100, 15_000])
def test_any_number_of_changes_has_a_level(either: int) -> None:
    half = either // 2
    assert 0.5 <= RepeatCounts(either, either, half, half).level < 0.54
    assert RepeatCounts(either, either, either, 0).inconsistent
    assert RepeatCounts(either, either, 0, either).level == 1.0
