"""The budget of each sample: no image beyond it is forwarded, whatever an attack asks."""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.domain.failure_reasons import Reason
from evaluation.formats.query.results import Outcome

MODEL = 1
EXHAUSTED = -2
BUDGET = 5


def test_one_query_too_many_is_answered_and_costs_the_other_samples_nothing(game: Any, wire: Any) -> None:
    replies: list[tuple[list[int], list[int]]] = []

    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        first, second, third = player.samples
        replies.extend(
            player.ask(sequence, [first], [player.brighter(0, sequence)]) for sequence in range(1, BUDGET + 2)
        )
        mixed = [player.brighter(0, 20), player.brighter(1, 20), player.brighter(0, 21), player.brighter(2, 20)]
        replies.append(player.ask(BUDGET + 2, [first, second, first, third], mixed))
        player.finish(BUDGET + 3)
        player.wait_for_disconnect()

    rows = game.play(raw_attack=serve, rules=replace(game.rules, query_budget=BUDGET))
    assert [left for _, (left,) in replies[:BUDGET]] == [4, 3, 2, 1, 0]
    assert replies[BUDGET] == ([EXHAUSTED], [0])
    assert replies[BUDGET + 1] == ([EXHAUSTED, 4, EXHAUSTED, 4], [0, BUDGET - 1, 0, BUDGET - 1])
    assert [row.queries for row in rows] == [BUDGET, 1, 1]
    assert [row.outcome for row in rows] == [Outcome.FAILED, Outcome.ADVERSARIAL, Outcome.ADVERSARIAL]
    assert game.failures == ()


def test_a_repeated_sequence_number_is_answered_again_and_not_charged(game: Any, wire: Any) -> None:
    replies: list[tuple[list[int], list[int]]] = []

    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        numbers = player.samples[:1]
        replies.append(player.ask(1, numbers, [player.brighter(0, 20)]))
        replies.append(player.ask(1, numbers, [player.brighter(0, 20)]))
        replies.append(player.ask(1, numbers, [player.brighter(0, 90)]))  # the same answer, whatever the frame holds
        player.finish(2)
        player.wait_for_disconnect()

    rows = game.play(raw_attack=serve)
    assert replies == [([4], [game.rules.query_budget - 1])] * 3
    assert [row.queries for row in rows] == [1, 0, 0]
    assert len(game.pieces[0].trace) == 1


def test_it_rejects_a_repeated_sequence_number_with_another_count(game: Any, wire: Any) -> None:
    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        player.ask(1, player.samples[:1], [player.brighter(0, 20)])
        player.query(1, player.samples[:2], [player.brighter(0, 20), player.brighter(1, 20)])
        player.wait_for_disconnect()

    rows = game.play(raw_attack=serve)
    assert [row.queries for row in rows] == [1, 0, 0]
    assert [failure.reason for failure in game.failures] == [Reason.BAD_SEQUENCE]


def _noting_model(game: Any, wire: Any, forwarded: Counter[bytes]) -> Callable[[socket.socket], None]:
    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.hello(MODEL)
        size = game.rules.shape.size
        while (received := player.receive()).kind == 19:
            forwarded.update(received.payload[i * size : (i + 1) * size] for i in range(received.count))
            images = np.frombuffer(received.payload, np.uint8).reshape(received.count, -1)
            player.labels(received, game.brightness(images).tolist())

    return serve


PATTERNS = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=8), st.integers(0, 2)), min_size=1, max_size=12
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pattern=PATTERNS)
def test_no_more_than_the_budget_is_ever_forwarded(game: Any, wire: Any, pattern: list[tuple[list[int], int]]) -> None:
    """`pattern`: frames, each with the places of its samples and the number of repetitions."""
    forwarded: Counter[bytes] = Counter()
    answers: list[list[int]] = []
    lefts: list[list[int]] = []

    def unique(place: int, serial: int) -> bytes:
        return struct.pack("<BH", place, serial).ljust(192, b"Z")

    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        serial = 0
        for sequence, (places, repeats) in enumerate(pattern, 1):
            images = []
            for place in places:
                serial += 1
                images.append(unique(place, serial))
            received = [player.ask(sequence, [player.samples[place] for place in places], images)]
            received += [
                player.ask(sequence, [player.samples[place] for place in places], images) for _ in range(repeats)
            ]
            assert received == received[:1] * (repeats + 1)
            answers.append(received[0][0])
            lefts.append(received[0][1])
        player.finish(len(pattern) + 1)
        player.wait_for_disconnect()

    rows = game.play(
        raw_attack=serve,
        raw_model=_noting_model(game, wire, forwarded),
        rules=replace(game.rules, query_budget=BUDGET),
    )
    clean = {sample.image.tobytes() for sample in game.samples(3)}
    asked = Counter(place for places, _ in pattern for place in places)
    distinct = Counter(image[0] for image in forwarded if image not in clean)
    for place, row in enumerate(rows):
        assert row.queries == distinct[place] == min(BUDGET, asked[place])
    so_far: Counter[int] = Counter()
    for (places, _), labels, left in zip(pattern, answers, lefts, strict=True):
        for place, label in zip(places, labels, strict=True):
            so_far[place] += 1
            assert (label == EXHAUSTED) == (so_far[place] > BUDGET)
        assert left == [max(0, BUDGET - so_far[place]) for place in places]
