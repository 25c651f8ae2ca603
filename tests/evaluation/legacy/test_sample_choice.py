"""Which sample a query of 2018 belongs to."""

from __future__ import annotations

import numpy as np

from avc2018.sample_choice import SampleChoice

CLEAN = [np.full((4, 4, 3), value, np.uint8) for value in (0, 100, 200)]


def test_a_query_in_a_loop_belongs_to_the_sample_taken_last() -> None:
    choice = SampleChoice()
    choice.take(1)
    # nearer to sample 0, but the loop is at sample 1
    assert choice.sample_of(CLEAN[0], CLEAN) == 1


def test_a_query_outside_of_a_loop_belongs_to_the_nearest_clean_image() -> None:
    choice = SampleChoice()
    for number in range(3):
        choice.take(number)
    choice.forget()
    assert choice.sample_of(np.full((4, 4, 3), 190, np.uint8), CLEAN) == 2


def test_of_several_samples_taken_at_once_a_clearly_nearer_one_gets_the_query() -> None:
    choice = SampleChoice()
    choice.take(0)
    choice.take(1)
    assert choice.sample_of(np.full((4, 4, 3), 10, np.uint8), CLEAN) == 0


def test_a_query_for_an_earlier_sample_does_not_keep_the_next_ones() -> None:
    choice = SampleChoice()
    choice.take(0)
    choice.take(1)
    far = np.full((4, 4, 3), 48, np.uint8)
    assert [choice.sample_of(image, CLEAN) for image in (CLEAN[0], far, CLEAN[0])] == [0, 1, 0]


def test_of_several_samples_taken_at_once_the_last_one_gets_a_query_that_is_near_to_none() -> None:
    choice = SampleChoice()
    choice.take(0)
    choice.take(1)
    assert choice.sample_of(np.full((4, 4, 3), 48, np.uint8), CLEAN) == 1


def test_the_next_sample_replaces_those_before_its_query() -> None:
    choice = SampleChoice()
    choice.take(0)
    choice.sample_of(CLEAN[0], CLEAN)
    choice.take(2)
    assert choice.sample_of(CLEAN[0], CLEAN) == 2
