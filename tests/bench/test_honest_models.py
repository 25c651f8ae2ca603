from __future__ import annotations

from dataclasses import replace

import pytest

from bench.audit_power import passes
from bench.honest_models import Changes, blamed
from evaluation.formats.query.rules import QueryRules

NONE = Changes(images=10**9, candidates=10**9)
"""Intervals of no width: what is added is the rate."""


def test_a_model_that_changes_labels_of_equal_frames_is_blamed_as_often_as_a_liar() -> None:
    """A model that changes labels of equal frames alone is blamed as often as a liar at that rate is found."""
    for pieces in (1, 20):
        changes = replace(NONE, equal=2 * 10**6)
        found = 1 - passes(0.002, 128 * pieces)
        assert blamed(changes, pieces, QueryRules()) == pytest.approx(found, rel=0.02)


def test_a_model_that_never_changes_is_never_blamed() -> None:
    assert all(blamed(NONE, pieces, QueryRules()) < 1e-12 for pieces in (1, 5, 20))


@pytest.mark.parametrize("count", ["equal", "company", "alone", "denied"])
def test_every_limit_can_blame(count: str) -> None:
    assert blamed(replace(NONE, **{count: 5 * 10**8}), 1, QueryRules()) > 0.5


def test_few_images_give_a_high_bound() -> None:
    bounds = [blamed(Changes(images=images, candidates=images), 1, QueryRules()) for images in (100, 1000, 10_000)]
    assert bounds == sorted(bounds, reverse=True)
