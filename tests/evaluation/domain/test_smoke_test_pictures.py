"""What a smoke test keeps of its public samples is bounded in bytes."""

from __future__ import annotations

import numpy as np

from evaluation.domain.smoke_test_pictures import PICTURED, PathStep, PicturedSmokeSample, bounded

IMAGE = np.zeros((10, 10, 1), np.uint8)
"""An image of 100 bytes."""


def sample(steps: int) -> PicturedSmokeSample:
    path = tuple(PathStep(query=number, distance=1.0 / number, label=1, image=IMAGE) for number in range(1, steps + 1))
    return PicturedSmokeSample(label=0, clean=IMAGE, perturbed=IMAGE, path=path)


def images_of(found: tuple[PicturedSmokeSample, ...]) -> list[list[int]]:
    return [[step.query for step in each.path if step.image is not None] for each in found]


def test_everything_is_kept_where_there_is_room() -> None:
    found = bounded([sample(20)] * 3)
    assert images_of(found) == [list(range(1, 21))] * 3


def test_at_most_six_samples_are_kept() -> None:
    assert len(bounded([sample(1)] * 20)) == PICTURED


def test_steps_keep_their_numbers_where_their_images_have_no_room() -> None:
    found = bounded([sample(9)] * 2, most_bytes=2 * 5 * 100)
    assert images_of(found) == [[1, 5, 9]] * 2
    assert [len(each.path) for each in found] == [9, 9]


def test_the_last_step_keeps_its_image_longest() -> None:
    assert images_of(bounded([sample(9)], most_bytes=300)) == [[9]]


def test_samples_are_left_out_where_even_two_images_have_no_room() -> None:
    assert images_of(bounded([sample(9)] * 6, most_bytes=400)) == [[], []]
    assert len(bounded([sample(9)] * 6, most_bytes=1)) == 1
    assert bounded([]) == ()
