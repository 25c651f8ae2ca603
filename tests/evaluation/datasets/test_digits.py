from __future__ import annotations

import hashlib
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from evaluation.datasets.digits import SPLITS, enlarge
from evaluation.datasets.load import load_dataset
from evaluation.domain.samples import Sample

SIZES = {"train": 600, "dev": 97, "validation": 200, "test-1": 200, "test-2": 200, "final": 500}

# sha256 over each sample's image bytes and its label byte: on each machine and for ever
BYTES = {
    "train": "74429422df5018bf81a0a3a5e22caed4363171040e9d28ea7f83749fcd838a6b",
    "dev": "18c07b3bc64b1fb1e8c5ce5736cbcb1208e26c9b03af3cbd675b4b33e0ffef72",
    "validation": "1dca60d2d5081f8aabd905be638990ab9da06568e89eed2bc13e2ad3a945894f",
    "test-1": "f06af30bea91f64b729d8a79316ddf06eee25d3f05ad94e983a4828819a18471",
    "test-2": "ba4be41ad1cded8c1cf885bd9986ed856d4e9d49eec7e91596fa8095ce47a313",
    "final": "0033b0bb38f18e50c5b54b2ca1709ce04340eb253572638a43a5f2b7941839ad",
}


def read(split: str) -> tuple[Sample, ...]:
    return load_dataset("digits").samples(split)


def test_each_split_has_its_size_and_samples_of_64_by_64_pixels_in_three_channels() -> None:
    dataset = load_dataset("digits")
    assert dataset.classes == 10
    assert dataset.class_names[7] == "7"
    assert tuple(dataset.splits) == SPLITS
    assert {split: len(read(split)) for split in SPLITS} == SIZES
    sample = dataset.samples("validation")[3]
    assert sample.number == 3
    assert sample.target is None
    assert sample.image.shape == dataset.shape == (64, 64, 3)
    assert sample.image.dtype == np.uint8


@pytest.mark.parametrize("split", SPLITS)
def test_it_gives_the_same_bytes_for_ever(split: str) -> None:
    content = b"".join(sample.image.tobytes() + bytes([sample.label]) for sample in read(split))
    assert hashlib.sha256(content).hexdigest() == BYTES[split]


def test_its_splits_are_disjoint_and_complete() -> None:
    images = [sample.image.tobytes() for split in SPLITS for sample in read(split)]
    assert len(images) == 1797
    assert len(set(images)) == 1797


@pytest.mark.parametrize("split", SPLITS)
def test_its_splits_hold_about_a_tenth_of_each_class(split: str) -> None:
    counts = Counter(sample.label for sample in read(split))
    assert all(abs(counts[label] - SIZES[split] / 10) <= 2 for label in range(10))


def test_the_first_samples_do_not_change_with_their_number() -> None:
    few, all_of_them = load_dataset("digits").samples("dev", 5), read("dev")
    assert len(few) == 5
    assert all(np.array_equal(a.image, b.image) for a, b in zip(few, all_of_them, strict=False))


def test_its_images_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        read("dev")[0].image[0, 0, 0] = 1


def test_enlarging_is_bilinear() -> None:
    small = np.random.default_rng(3).integers(0, 17, (1, 8, 8)).astype(np.uint8)
    large = enlarge(small)
    assert large.shape == (1, 64, 64, 3)
    for y, x in [(0, 0), (3, 4), (4, 4), (31, 32), (40, 7), (63, 63), (63, 10)]:
        expected = _bilinear(small[0], y, x) * 255 / 16
        assert large[0, y, x].tolist() == [int(expected + Fraction(1, 2))] * 3


def _bilinear(small: np.ndarray, y: int, x: int) -> Fraction:
    """The textbook's formula, pixel by pixel, in exact fractions."""
    total = Fraction(0)
    at_y, at_x = Fraction(2 * y + 1, 16) - Fraction(1, 2), Fraction(2 * x + 1, 16) - Fraction(1, 2)
    for i in range(-1, 9):
        for j in range(-1, 9):
            weight = max(Fraction(0), 1 - abs(at_y - i)) * max(Fraction(0), 1 - abs(at_x - j))
            total += weight * int(small[min(max(i, 0), 7), min(max(j, 0), 7)])
    return total


def test_enlarging_keeps_even_areas() -> None:
    assert (enlarge(np.full((1, 8, 8), 16, np.uint8)) == 255).all()
    assert (enlarge(np.zeros((1, 8, 8), np.uint8)) == 0).all()
