"""The deadlines of a model: what it may take for an image, and one reserve for all that an instance is asked."""

from __future__ import annotations

import time

import pytest

from evaluation.protocol.model_time import MODEL_GRACE_SECONDS, ModelTime


def seconds_left(model_time: ModelTime) -> float:
    """The seconds for which the question just asked may be open."""
    return model_time.deadline - time.monotonic()


def use(model_time: ModelTime, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock go on for `seconds` before the model answers."""
    at = time.monotonic() + seconds
    with monkeypatch.context() as later:
        later.setattr(time, "monotonic", lambda: at)
        model_time.answered()


@pytest.fixture
def model_time() -> ModelTime:
    """The time of a model with 40 ms for an image, on a host half as fast as the reference machine."""
    return ModelTime(0.040, 2.0, lambda: None)


@pytest.mark.parametrize(("factor", "seconds"), [(1.0, 2 * (10 + 0.4)), (4.0, 2 * (10 + 1.6))])
def test_an_answer_may_take_the_reserve_and_the_limit_of_its_images(
    model_time: ModelTime, factor: float, seconds: float
) -> None:
    model_time.ask(10, factor=factor)
    assert MODEL_GRACE_SECONDS == 10
    assert seconds - 1 < seconds_left(model_time) <= seconds


def test_what_answers_take_beyond_their_limit_uses_up_the_reserve(
    model_time: ModelTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        model_time.ask(1)
        use(model_time, monkeypatch, 6.0)
    model_time.ask(1)
    assert seconds_left(model_time) < 20 - 3 * 6 + 4 * 0.08


def test_faster_answers_restore_the_reserve_and_no_more(model_time: ModelTime, monkeypatch: pytest.MonkeyPatch) -> None:
    model_time.ask(1)
    use(model_time, monkeypatch, 15.0)
    for _ in range(20):
        model_time.ask(64)
        use(model_time, monkeypatch, 0.0)
    model_time.ask(1)
    assert 19 < seconds_left(model_time) <= 20.08


def test_a_fresh_instance_has_a_reserve_of_its_own(model_time: ModelTime, monkeypatch: pytest.MonkeyPatch) -> None:
    model_time.ask(1)
    use(model_time, monkeypatch, 15.0)
    model_time.begin()
    model_time.ask(1)
    assert seconds_left(model_time) > 19
