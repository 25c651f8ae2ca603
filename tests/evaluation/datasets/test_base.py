from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evaluation.datasets.base import with_targets
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.samples import Sample

BLANK = np.zeros((2, 2, 3), np.uint8)
PINNED = [7, 6, 6, 7, 7, 0, 9, 2, 3, 3]


def samples(count: int) -> tuple[Sample, ...]:
    return tuple(Sample(number, BLANK, number % 10) for number in range(count))


def test_targets_are_drawn_evenly_from_the_wrong_classes() -> None:
    drawn = with_targets(samples(2000), 10, seed=1)
    assert [sample.number for sample in drawn] == list(range(2000))
    assert all(sample.target != sample.label and 0 <= (sample.target or 0) < 10 for sample in drawn)
    # nine wrong classes, 2,000 draws: 222 each in the mean, 14 the standard deviation
    steps = Counter(((sample.target or 0) - sample.label) % 10 for sample in drawn)
    assert sorted(steps) == list(range(1, 10))
    assert all(150 < count < 300 for count in steps.values())


def test_it_gives_a_sample_the_same_target_however_many_are_taken() -> None:
    many = with_targets(samples(50), 10, seed=7)
    few = with_targets(samples(50)[20:25], 10, seed=7)
    assert [sample.target for sample in few] == [sample.target for sample in many[20:25]]


def test_it_never_changes() -> None:
    # stored results carry these targets: another draw would make them another tournament
    assert [sample.target for sample in with_targets(samples(10), 10, seed=0)] == PINNED
    assert [sample.target for sample in with_targets(samples(10), 10, seed=1)] != PINNED


def test_it_keeps_a_target_that_came_with_the_data_set() -> None:
    assert with_targets([Sample(0, BLANK, 1, target=4)], 10, seed=0)[0].target == 4


def test_it_rejects_an_unknown_split() -> None:
    with pytest.raises(DatasetRefusal, match="train, dev, validation"):
        load_dataset("digits").samples("secret")


@pytest.mark.parametrize("count", [0, -3])
def test_it_rejects_a_count_below_one(count: int) -> None:
    with pytest.raises(DatasetRefusal, match="at least one"):
        load_dataset("digits").samples("dev", count)


def test_it_rejects_more_samples_than_there_are() -> None:
    with pytest.raises(DatasetRefusal, match="at most 97"):
        load_dataset("digits").samples("dev", 98)


@pytest.mark.parametrize("spec", ["imagenet", "folder", "folder:", "cifar10:", "digits:/somewhere", ""])
def test_it_rejects_an_unknown_data_set(spec: str) -> None:
    with pytest.raises(DatasetRefusal, match="digits, tiny-imagenet:PATH, cifar10:PATH, nips2017:PATH, folder:PATH"):
        load_dataset(spec)


def test_without_a_path_it_is_the_folder_of_its_name_below_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny-imagenet").mkdir()
    with monkeypatch.context() as patched:
        patched.delenv("GAUNTLET_DATA", raising=False)
        with pytest.raises(DatasetRefusal, match="or set GAUNTLET_DATA to the folder that holds tiny-imagenet/"):
            load_dataset("tiny-imagenet")
    monkeypatch.setenv("GAUNTLET_DATA", str(tmp_path))
    with pytest.raises(DatasetRefusal, match=f"{tmp_path}/tiny-imagenet: wnids.txt is missing"):
        load_dataset("tiny-imagenet")
