"""Attacks of 2018 through the process sandbox, each with a habit of real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.domain.failure_reasons import Reason
from evaluation.formats.query.results import Outcome
from tests.evaluation.legacy.conftest import RULES

Play = Callable[..., Any]


def test_a_stored_image_counts_as_adversarial_and_costs_nothing_more(play: Play) -> None:
    played = play("plain-attack")
    assert [row.outcome for row in played.rows] == [Outcome.ADVERSARIAL] * 3
    # 20 and 41 levels brighter are asked about; the stored image is the last of them, and costs nothing more
    assert [row.queries for row in played.rows] == [1, 1, 1]
    assert not played.failures


def test_a_targeted_attack_gets_the_target_as_its_label(play: Play) -> None:
    played = play("targeted-attack", count=2)
    assert [row.outcome for row in played.rows] == [Outcome.ADVERSARIAL] * 2


def test_queries_of_a_sorted_list_belong_to_the_nearest_clean_image(play: Play) -> None:
    played = play("sorts-its-images")
    assert [row.queries for row in played.rows] == [4, 4, 4]
    assert all(row.outcome is Outcome.ADVERSARIAL for row in played.rows)


def test_queries_far_from_a_sample_belong_to_the_one_that_the_program_took_last(play: Play) -> None:
    # the referee itself charges an image to a clean image that it is near to, so the first sample pays
    played = play("indexes-its-images", count=2)
    assert sum(row.queries for row in played.rows) == 5
    assert all(row.outcome is Outcome.ADVERSARIAL for row in played.rows)


def test_a_shuffled_list_keeps_each_query_with_its_sample(play: Play) -> None:
    played = play("shuffles-its-images")
    # images of one colour are near to no sample
    assert [(row.queries, row.outcome) for row in played.rows] == [(2, Outcome.ADVERSARIAL)] * 3


def test_a_program_that_spends_all_queries_is_started_again_with_the_samples_that_are_left(play: Play) -> None:
    played = play("spends-everything", count=2)
    assert [row.queries for row in played.rows] == [20, 20]
    assert [row.outcome for row in played.rows] == [Outcome.ADVERSARIAL] * 2
    assert "RetriesExceededError: the queries of this sample are used up" in played.log
    assert not played.failures


def test_an_exception_ends_a_program_whose_threads_wait_for_ever(play: Play) -> None:
    played = play("leaves-threads-behind", count=2)
    assert [(row.queries, row.outcome) for row in played.rows] == [(20, Outcome.ADVERSARIAL)] * 2
    assert not played.failures


def test_a_stored_image_that_was_never_queried_costs_one_query(play: Play) -> None:
    played = play("stores-unqueried", count=2)
    assert [(row.queries, row.outcome) for row in played.rows] == [(1, Outcome.ADVERSARIAL)] * 2
    assert "no image of this piece is called 'no-such-image.npy'" in played.log


def test_float64_is_the_assertion_of_2018_and_costs_its_sample_alone(play: Play) -> None:
    played = play("sends-float64", count=2)
    assert [row.reason for row in played.rows] == [Reason.ATTACK_RAISED] * 2
    assert "image should be of type float32 or uint8, but got: float64" in played.log
    assert not played.failures


def test_an_end_without_attack_complete_is_accepted_and_said(play: Play) -> None:
    played = play("never-completes", count=1)
    assert played.rows[0].outcome is Outcome.ADVERSARIAL
    assert "run.sh ended without attack_complete()" in played.log


def test_a_program_that_never_ends_is_too_slow_and_keeps_what_it_asked(play: Play) -> None:
    played = play("never-ends", count=1, rules=replace(RULES, attack_seconds_per_sample=3.0))
    assert [failure.reason for failure in played.failures] == [Reason.TOO_SLOW]
    assert played.rows[0].outcome is Outcome.ADVERSARIAL


def test_a_program_that_goes_on_after_attack_complete_is_ended(play: Play) -> None:
    played = play("lingers-after-its-end", count=1)
    assert played.rows[0].outcome is Outcome.ADVERSARIAL
    assert not played.failures


def test_forked_workers_have_connections_of_their_own(play: Play) -> None:
    played = play("forks", count=4)
    assert [(row.queries, row.outcome) for row in played.rows] == [(2, Outcome.ADVERSARIAL)] * 4


def test_a_failure_before_read_images_is_a_failure_in_setup(play: Play) -> None:
    played = play("fails-while-loading", count=1)
    assert {failure.reason for failure in played.failures} == {Reason.EXITED_IN_SETUP}
    assert all(failure.in_setup for failure in played.failures)
    assert "FileNotFoundError" in played.log


def test_a_program_that_reads_no_images_is_a_failure_in_setup(play: Play) -> None:
    played = play("reads-nothing", count=1)
    assert {failure.reason for failure in played.failures} == {Reason.EXITED_IN_SETUP}
    assert "run.sh ended with exit status 0 before read_images()" in played.log


def test_a_program_that_fails_on_one_image_loses_that_one(play: Play) -> None:
    played = play("fails-on-one-image")
    assert [row.reason for row in played.rows] == [None, Reason.ATTACK_RAISED, None]
    assert [row.outcome is Outcome.ADVERSARIAL for row in played.rows] == [True, False, True]


def test_an_image_without_a_label_looks_adversarial(play: Play) -> None:
    def model(images: np.ndarray) -> np.ndarray:
        bright = images.reshape(len(images), -1).mean(axis=1) > 200
        return np.where(bright, -1, 3)

    played = play("knows-no-label", count=1, model=model)
    assert "AssertionError" not in played.log
    assert played.rows[0].outcome is Outcome.ADVERSARIAL
