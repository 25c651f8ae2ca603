from __future__ import annotations

import numpy as np
import pytest

from bench.audit_power import most_allowed, passes
from evaluation.formats.query.referee.model_audit import ENOUGH_FRESH
from evaluation.formats.query.results import AuditReport


@pytest.mark.parametrize("share", [0.01, 0.03, 0.10])
@pytest.mark.parametrize("pieces", [1, 20])
def test_liars_that_are_drawn_pass_as_often_as_the_exact_probability_says(share: float, pieces: int) -> None:
    images, liars = ENOUGH_FRESH * pieces, 4000
    lies = np.random.default_rng(0).binomial(images, share, liars)
    passed = sum(not AuditReport(fresh=images, fresh_changed=int(count)).stateful for count in lies) / liars
    exact = passes(share, images)
    assert passed == pytest.approx(exact, abs=4 * (exact * (1 - exact) / liars) ** 0.5 + 1e-3)


def test_a_longer_match_finds_a_liar_more_surely() -> None:
    for share in (0.01, 0.02, 0.03, 0.05, 0.10):
        chances = [passes(share, ENOUGH_FRESH * pieces) for pieces in (1, 2, 5, 20, 50)]
        assert chances == sorted(chances, reverse=True)


def test_the_tolerance_is_never_above_two_or_five_per_cent() -> None:
    assert all(most_allowed(images) <= max(2, 0.05 * images) for images in range(0, 4000, 7))


def test_a_deterministic_model_is_never_found() -> None:
    assert passes(0.0, ENOUGH_FRESH) == 1.0
