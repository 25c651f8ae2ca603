"""Published images are shown in another order and form."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.datasets.load import load_dataset
from evaluation.domain.samples import Sample
from evaluation.formats.query.runner.smoke_test_disguise import disguise


@pytest.fixture
def samples() -> list[Sample]:
    return list(load_dataset("digits").samples("dev")[:20])


def test_shown_images_have_another_order_and_none_of_the_published_bytes(samples: list[Sample]) -> None:
    shown = disguise(samples, 1)
    assert [sample.number for sample in shown] == list(range(20))
    assert sorted(sample.label for sample in shown) == sorted(sample.label for sample in samples)
    assert [sample.label for sample in shown] != [sample.label for sample in samples]
    published = {sample.image.tobytes() for sample in samples}
    assert not published & {sample.image.tobytes() for sample in shown}


def test_equal_seeds_give_equal_images(samples: list[Sample]) -> None:
    def images(seed: int) -> list[bytes]:
        return [sample.image.tobytes() for sample in disguise(samples, seed)]

    assert images(1) == images(1)
    assert not set(images(1)) & set(images(2))


@pytest.mark.parametrize("shape", [(1, 2, 1), (32, 32, 3), (299, 299, 3)])
def test_images_of_any_shape_stay_what_they_are(shape: tuple[int, int, int]) -> None:
    image = np.full(shape, 250, np.uint8)
    (shown,) = disguise([Sample(7, image, 3, None)], 0)
    assert (shown.image.shape, str(shown.image.dtype), shown.label) == (shape, "uint8", 3)
    assert np.abs(shown.image.astype(int) - 250).max() <= 2
