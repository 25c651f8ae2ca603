"""The schedule of the learning rate."""

from __future__ import annotations

import pytest

from evaluation.training.training_loop import one_cycle


def test_the_learning_rate_rises_for_a_fifth_of_the_run_and_then_falls() -> None:
    assert one_cycle(0.0) < one_cycle(0.1) < one_cycle(0.2) == pytest.approx(1)
    assert one_cycle(0.5) > one_cycle(0.99) > 0
