"""What an attack holds of the model: memory, budget, criterion, clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet import BudgetExhausted, ModelHandle, frames
from gauntlet.handle import Clock

SHAPE = (2, 2, 3)


class Referee:
    """The label is the first pixel's first value; charges like the real one."""

    def __init__(self, budget: int) -> None:
        self.left = budget
        self.asked: list[list[int]] = []

    def ask(self, images: list[bytes]) -> tuple[list[int], int]:
        values = [image[0] for image in images]
        self.asked.append(values)
        labels = []
        for value in values:
            labels.append(value if self.left else frames.EXHAUSTED)
            self.left = max(0, self.left - 1)
        return [-1 if label == 99 else label for label in labels], self.left


def make(
    budget: int = 10, label: int | None = 5, target: int | None = None, **more: Any
) -> tuple[ModelHandle, Referee]:
    referee = Referee(more.get("real_budget", budget))
    handle = ModelHandle(
        referee.ask,
        image=image(5),
        label=label,
        target=target,
        classes=200,
        budget=budget,
        clock=more.get("clock") or Clock(more.get("seconds", 100.0)),
    )
    return handle, referee


def image(first: int, others: int = 0) -> np.ndarray:
    full = np.full(SHAPE, others, np.uint8)
    full[0, 0, 0] = first
    return full


def test_labels_are_answered_and_every_image_that_was_asked_costs_a_query() -> None:
    model, referee = make()
    assert model(image(7)) == 7
    assert model.many([image(5), image(8)]) == [5, 8]
    assert referee.asked == [[7], [5, 8]]
    assert model.queries_left == 7


def test_what_was_asked_before_is_free() -> None:
    model, referee = make()
    for again in (image(7), image(7).astype(float) + 0.3, image(7).astype(np.float32) - 0.4):
        assert model(again) == 7
    assert model.many([image(7), image(8), image(7), image(8), image(9)]) == [7, 8, 7, 8, 9]
    assert referee.asked == [[7], [8, 9]]
    assert model.queries_left == 7
    assert model.knows(image(9))
    assert not model.knows(image(10))


def test_asking_for_nothing_is_free() -> None:
    model, referee = make()
    assert model.many([]) == []
    assert referee.asked == []


def test_many_asks_as_far_as_the_budget_reaches() -> None:
    model, referee = make(budget=3)
    with pytest.raises(BudgetExhausted):
        model.many([image(value) for value in (5, 20, 6, 30, 40)])
    assert referee.asked == [[5, 20, 6]]
    assert model.queries_left == 0
    assert model.best is not None
    assert model.best[0, 0, 0] == 6
    assert model.many([image(20), image(6)]) == [20, 6]


def test_it_rejects_a_query_beyond_the_budget_without_asking() -> None:
    model, referee = make(budget=1)
    model(image(5))
    with pytest.raises(BudgetExhausted):
        model(image(6))
    assert referee.asked == [[5]]


def test_it_rejects_a_query_that_the_referee_answers_with_exhausted() -> None:
    model, _ = make(budget=10, real_budget=1)
    with pytest.raises(BudgetExhausted):
        model.many([image(6), image(7)])
    assert model(image(6)) == 6
    assert not model.knows(image(7))


def test_it_rejects_a_query_when_the_time_is_up() -> None:
    model, referee = make(seconds=0.2)
    with pytest.raises(BudgetExhausted, match="time"):
        model(image(6))
    assert referee.asked == []
    assert model.seconds_left < 0.2


def test_it_rejects_an_image_of_another_shape_before_it_costs_anything() -> None:
    model, referee = make()
    with pytest.raises(ValueError, match="shape"):
        model.many([image(6), np.zeros((3, 2, 3))])
    assert referee.asked == []


def test_best_is_the_closest_adversarial() -> None:
    model, _ = make()
    assert model.best is None
    for value in (5, 60, 9, 30, 7):
        model(image(value))
    model(image(7, others=1))
    assert model.best is not None
    assert model.best.tolist() == image(7).tolist()
    assert model.best_distance == pytest.approx(2 / 255)


@pytest.mark.parametrize(
    ("label", "target", "adversarial", "not_adversarial"),
    [(5, None, [0, 6, -1], [5]), (None, 8, [8, -1], [0, 5, 7]), (5, 8, [8, -1], [5, 7])],
)
def test_the_criterion(
    label: int | None, target: int | None, adversarial: list[int], not_adversarial: list[int]
) -> None:
    model, _ = make(label=label, target=target)
    assert all(model.is_adversarial(seen) for seen in adversarial)
    assert not any(model.is_adversarial(seen) for seen in not_adversarial)


def test_an_image_without_a_label_counts_as_adversarial() -> None:
    model, _ = make(label=None, target=8)
    assert model(image(99)) == -1
    assert model.best is not None


def test_the_clock_stops_while_the_model_works(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    clock = Clock(10.0)
    now = 1002.0
    clock.stop()
    now = 1500.0
    clock.go_on()
    clock.go_on()
    assert clock.seconds_left == 8.0


def test_the_best_is_not_changed_by_what_the_attack_does_to_its_array() -> None:
    handle, _ = make()
    working = image(6)
    handle(working)
    working[:] = 200
    assert handle.best is not None
    assert handle.best.max() == 6


def test_the_clock_knows_its_longest_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    clock = Clock(10.0)
    for working, waiting in ((1.0, 5.0), (3.0, 5.0), (2.0, 5.0)):
        now[0] += working
        clock.stop()
        now[0] += waiting
        clock.go_on()
    assert clock.seconds_left == pytest.approx(4.0)
    assert clock.longest_stretch == pytest.approx(3.0)


def test_no_query_is_asked_when_another_such_stretch_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    clock = Clock(10.0)
    handle, _ = make(clock=clock)
    now[0] += 4.0
    clock.stop()
    clock.go_on()
    handle(image(1))
    now[0] += 2.0  # four seconds are left, less than the four of the longest stretch and the margin
    with pytest.raises(BudgetExhausted, match="time"):
        handle(image(2))
