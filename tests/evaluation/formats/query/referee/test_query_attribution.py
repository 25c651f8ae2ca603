"""Attribution: the sample that pays is found among many, and bounds change nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.query_attribution import CLOSER, REACH, Attribution
from evaluation.formats.query.referee.squared_distances import PixelDifferences

SHAPE = ImageShape(8, 8, 3)


def squared(a: np.ndarray, b: np.ndarray | int) -> int:
    return int(((a.reshape(-1).astype(int) - np.asarray(b).reshape(-1)) ** 2).sum())


def by_definition(samples: list[Sample], named: int, image: np.ndarray) -> int:
    """The rule, without any shortcut."""
    owner, least = named, CLOSER**2 * squared(next(s.image for s in samples if s.number == named), image)
    for sample in samples:
        distance = squared(sample.image, image)
        if sample.number != named and distance < min(least, REACH**2 * squared(sample.image, 128)):
            owner, least = sample.number, distance
    return owner


def make(seed: int, spread: float) -> list[Sample]:
    rng = np.random.default_rng(seed)
    common = rng.integers(0, 256, SHAPE)
    images = [np.clip(common + rng.normal(0, spread, SHAPE), 0, 255).astype(np.uint8) for _ in range(6)]
    return [Sample(7 * place, image, label=0, target=1) for place, image in enumerate(images)]


def owners(samples: list[Sample], numbers: list[int], images: np.ndarray) -> list[int]:
    differences = PixelDifferences(samples, SHAPE)
    distances = differences.squared(numbers, images).tolist()
    return Attribution(samples, differences).owners(numbers, images, distances)


def test_the_sample_with_the_nearest_clean_image_pays_for_a_query() -> None:
    samples = make(1, 60.0)
    images = np.stack([samples[2].image.reshape(-1), samples[0].image.reshape(-1)])
    assert owners(samples, [0, 0], images) == [14, 0]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.5, 5.0, 30.0, 90.0]), noise=st.sampled_from([0, 4, 60]))
def test_it_is_the_rule_for_every_image_of_a_frame(seed: int, spread: float, noise: float) -> None:
    samples = make(seed, spread)
    rng = np.random.default_rng(seed)
    numbers = [samples[place].number for place in rng.integers(0, 6, 20)]
    first, second = (np.stack([samples[p].image for p in rng.integers(0, 6, 20)]).astype(float) for _ in range(2))
    share = rng.random((20, 1, 1, 1))
    mixed = first * share + second * (1 - share) + rng.normal(0, noise, first.shape)
    images = np.clip(mixed, 0, 255).astype(np.uint8).reshape(20, -1)
    expected = [by_definition(samples, number, image) for number, image in zip(numbers, images, strict=True)]
    found = owners(samples, numbers, images)
    clean = {sample.number: sample.image for sample in samples}
    for number, image, owner, right in zip(numbers, images, found, expected, strict=True):
        assert (owner == number) == (right == number)
        assert squared(clean[owner], image) == squared(clean[right], image)  # of equally near ones, any may pay


def test_one_sample_pays_for_everything() -> None:
    (sample,) = make(2, 1.0)[:1]
    images = np.random.default_rng(3).integers(0, 256, (5, SHAPE.size), np.uint8)
    assert owners([sample], [sample.number] * 5, images) == [sample.number] * 5
