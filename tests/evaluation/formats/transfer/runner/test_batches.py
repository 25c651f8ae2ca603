"""Batches of a sample set, their epsilons and names."""

from __future__ import annotations

import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image as Picture

from evaluation.domain.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.batches import anonymous_names, make_batches


def test_samples_are_cut_into_batches_with_an_epsilon_names_and_target_classes(
    samples: list[Sample], rules: TransferRules
) -> None:
    first, second = make_batches(samples, rules, seed=0)
    assert [len(first.samples), len(second.samples)] == [3, 2]
    assert (first.epsilon, second.epsilon) == (4, 16)
    assert second.names == ("IMG000003", "IMG000004")
    assert second.target_classes() == "IMG000003.png,5\nIMG000004.png,6\n"
    with Picture.open(BytesIO(second.files["IMG000004.png"])) as picture:
        assert np.array_equal(np.asarray(picture), samples[4].image)


def test_epsilons_are_drawn_with_the_seed(samples: list[Sample]) -> None:
    rules = TransferRules(shape=ImageShape(8, 8, 3), classes=10, batch_images=1, epsilon_order="drawn")
    many = samples * 20
    drawn = [[batch.epsilon for batch in make_batches(many, rules, seed)] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert set(drawn[0]) == {4, 8, 12, 16}


def test_names_say_nothing(samples: list[Sample], rules: TransferRules) -> None:
    batch = make_batches(samples, rules, seed=0)[0]
    names = anonymous_names(batch, "sha256:1", "sha256:2", seed=0)
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in names)
    for other in [("sha256:3", "sha256:2", 0), ("sha256:1", "sha256:3", 0), ("sha256:1", "sha256:2", 1)]:
        assert not set(names) & set(anonymous_names(batch, *other))


def test_it_rejects_no_samples(rules: TransferRules) -> None:
    with pytest.raises(Refusal, match="no samples"):
        make_batches([], rules, seed=0)


@pytest.mark.parametrize("epsilons", [(), (0,), (4, 256), (-1,)])
def test_it_rejects_an_epsilon_that_is_none(epsilons: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="from 1 to 255"):
        TransferRules(epsilons=epsilons)
