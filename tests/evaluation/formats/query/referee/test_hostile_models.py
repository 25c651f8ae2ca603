"""Models that fail or break the protocol: the failure is named, and the attack is credited for it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side
from evaluation.formats.query.results import Outcome
from evaluation.protocol import model_time
from gauntlet import serve_model

LABELS = 4
MODEL = 1
CLASS = 3

Breach = Callable[[Any, Any], None]


def wrong_type(player: Any, received: Any) -> None:
    player.send(2, received.count, received.sequence, b"\0\0" * received.count)


def too_few_labels(player: Any, received: Any) -> None:
    count = received.count + 1 if received.count == 1 else received.count - 1
    player.send(LABELS, count, received.sequence, b"\3\0" * count)


def no_labels(player: Any, received: Any) -> None:
    player.send(LABELS, 0, received.sequence)


def payload_too_short(player: Any, received: Any) -> None:
    player.send(LABELS, received.count, received.sequence, b"\3\0" * received.count + b"\3")


def oversized(player: Any, received: Any) -> None:
    player.send(LABELS, received.count, received.sequence, b"", length=0xFFFFFFFF)


def wrong_sequence(player: Any, received: Any) -> None:
    player.send(LABELS, received.count, received.sequence + 1, b"\3\0" * received.count)


def answer_to_the_previous_question(player: Any, received: Any) -> None:
    player.send(LABELS, received.count, received.sequence - 1, b"\3\0" * received.count)


def two_answers(player: Any, received: Any) -> None:
    payload = b"\3\0" * received.count
    second = struct.pack("<IHHQ", len(payload), LABELS, received.count, received.sequence + 1) + payload
    player.send(LABELS, received.count, received.sequence, payload + second, length=len(payload))


def disconnect(player: Any, received: Any) -> None:
    player.socket.shutdown(socket.SHUT_RDWR)


def disconnect_in_mid_frame(player: Any, received: Any) -> None:
    player.socket.sendall(struct.pack("<IHHQ", 2 * received.count, LABELS, received.count, received.sequence)[:9])
    player.socket.shutdown(socket.SHUT_RDWR)


BREACHES: list[tuple[Breach, Reason]] = [
    (wrong_type, Reason.BAD_TYPE),
    (too_few_labels, Reason.BAD_COUNT),
    (no_labels, Reason.BAD_COUNT),
    (payload_too_short, Reason.BAD_LENGTH),
    (oversized, Reason.BAD_LENGTH),
    (wrong_sequence, Reason.BAD_SEQUENCE),
    (answer_to_the_previous_question, Reason.BAD_SEQUENCE),
    (two_answers, Reason.UNEXPECTED_BYTES),
    (disconnect, Reason.DISCONNECTED),
    (disconnect_in_mid_frame, Reason.DISCONNECTED),
]


def _fails_unless_clean(game: Any, wire: Any, breach: Breach) -> Callable[[socket.socket], None]:
    """Return a raw model that labels clean images correctly and commits `breach` on every other frame."""
    clean = {sample.image.tobytes() for sample in game.samples(10)}
    size = game.rules.shape.size

    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.hello(MODEL)
        while (received := player.receive()).kind == 19:
            if {received.payload[i * size : (i + 1) * size] for i in range(received.count)} <= clean:
                player.labels(received, [CLASS] * received.count)
            else:
                breach(player, received)
                player.wait_for_disconnect()
                return

    return serve


def _asks(frames: list[list[int]], answers: list[list[int]]) -> Callable[[Any], Callable[[socket.socket], None]]:
    """Return a raw attack whose n-th frame asks about the samples at these places, with rising brightness."""

    def of(wire: Any) -> Callable[[socket.socket], None]:
        def serve(connected: socket.socket) -> None:
            player = wire(connected)
            player.begin_attack()
            sequence = 0
            while True:
                for places in frames:
                    sequence += 1
                    images = [player.brighter(place, sequence) for place in places]
                    labels, _ = player.ask(sequence, [player.samples[place] for place in places], images)
                    answers.append(labels)
                sequence += 1
                player.finish(sequence)
                player.take_piece()

        return serve

    return of


@pytest.mark.parametrize(("breach", "reason"), BREACHES, ids=lambda value: getattr(value, "__name__", None))
def test_it_records_the_images_that_a_model_fails_on_as_adversarial(
    game: Any, wire: Any, breach: Breach, reason: Reason
) -> None:
    answers: list[list[int]] = []
    rows = game.play(raw_model=_fails_unless_clean(game, wire, breach), raw_attack=_asks([[0, 1]], answers)(wire))
    assert answers == [[-1, -1]]
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.ADVERSARIAL, Outcome.FAILED]
    assert [row.reason for row in rows] == [reason, reason, Reason.NO_ADVERSARIAL]
    assert rows[0].distance == pytest.approx((192 / 255**2) ** 0.5)
    assert [(failure.side, failure.reason) for failure in game.failures] == [(Side.MODEL, reason)]


def test_a_failed_model_is_restarted_twice_and_then_loses_what_is_undecided(game: Any, wire: Any) -> None:
    answers: list[list[int]] = []
    rows = game.play(
        raw_model=_fails_unless_clean(game, wire, disconnect), raw_attack=_asks([[0], [0], [1], [1]], answers)(wire)
    )
    assert answers == [[-1], [-1]]  # the third failure ends the match, in the middle of a question
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.ADVERSARIAL, Outcome.CLEAN_WRONG]
    assert [row.reason for row in rows] == [Reason.DISCONNECTED] * 3
    assert rows[2].distance == 0
    assert len(game.failures) == 3
    assert game.model_connection.opened == 3


def test_a_model_that_failed_once_is_asked_again_and_answers(game: Any, wire: Any) -> None:
    lives: list[int] = []
    broken = _fails_unless_clean(game, wire, disconnect)

    def serve(connected: socket.socket) -> None:
        lives.append(1)
        if len(lives) == 1:
            broken(connected)
            return
        player = wire(connected)
        player.hello(MODEL)
        while (received := player.receive()).kind == 19:
            images = np.frombuffer(received.payload, np.uint8).reshape(received.count, -1)
            player.labels(received, game.brightness(images).tolist())

    answers: list[list[int]] = []
    rows = game.play(raw_model=serve, raw_attack=_asks([[0], [0], [1]], answers)(wire))
    assert answers == [[-1], [CLASS], [CLASS]]
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.FAILED, Outcome.FAILED]
    assert [row.reason for row in rows] == [Reason.DISCONNECTED, Reason.NO_ADVERSARIAL, Reason.NO_ADVERSARIAL]


def test_a_model_that_failed_in_one_piece_may_play_the_next(game: Any, wire: Any) -> None:
    """Otherwise a row would depend on the pieces that the same worker played before."""
    rows = game.play(
        raw_model=_fails_unless_clean(game, wire, disconnect),
        raw_attack=_asks([[0]], [])(wire),
        samples=game.samples(5),
        rules=replace(game.rules, piece_samples=1),
    )
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 5
    assert [row.reason for row in rows] == [Reason.DISCONNECTED] * 5
    assert [row.queries for row in rows] == [1] * 5


def test_a_model_that_fails_in_set_up_is_set_up_once_for_each_piece(game: Any, wire: Any) -> None:
    rows = game.play(
        raw_model=lambda connected: wire(connected).hello(2),
        samples=game.samples(3),
        rules=replace(game.rules, piece_samples=1),
    )
    assert [(row.outcome, row.reason) for row in rows] == [(Outcome.CLEAN_WRONG, Reason.BAD_HELLO)] * 3
    assert game.model_connection.opened == 3
    assert [failure.reason for failure in game.failures] == [Reason.BAD_HELLO]


def test_a_model_whose_set_up_fails_once_loses_one_piece(game: Any, wire: Any) -> None:
    starts = count(1)

    def fails_first(connected: socket.socket) -> None:
        if next(starts) == 1:
            wire(connected).hello(2)
        else:
            serve_model(game.brightness, connected=connected)

    rows = game.play(raw_model=fails_first, samples=game.samples(3), rules=replace(game.rules, piece_samples=1))
    assert [row.outcome is Outcome.CLEAN_WRONG for row in rows] == [True, False, False]
    assert rows[0].reason is Reason.BAD_HELLO


def test_it_rejects_a_model_that_never_says_hello(game: Any, wire: Any) -> None:
    rows = game.play(
        raw_model=lambda connected: wire(connected).wait_for_disconnect(), rules=replace(game.rules, setup_seconds=0.2)
    )
    assert [(row.outcome, row.distance, row.reason) for row in rows] == [
        (Outcome.CLEAN_WRONG, 0.0, Reason.TOO_SLOW)
    ] * 3
    assert game.model_connection.opened == 1


def test_it_rejects_a_model_that_says_it_is_an_attack(game: Any, wire: Any) -> None:
    rows = game.play(raw_model=lambda connected: wire(connected).hello(2))
    assert [row.reason for row in rows] == [Reason.BAD_HELLO] * 3


def test_it_rejects_a_model_that_never_answers(game: Any, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 0.2)

    def nothing(player: Any, received: Any) -> None:
        pass

    rows = game.play(raw_model=_fails_unless_clean(game, wire, nothing), raw_attack=_asks([[0], [1]], [])(wire))
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.ADVERSARIAL, Outcome.FAILED]
    assert [failure.reason for failure in game.failures] == [Reason.TOO_SLOW] * 2


def test_it_rejects_labels_that_come_byte_by_byte(game: Any, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 0.2)
    never = threading.Event()

    def trickle(player: Any, received: Any) -> None:
        header = struct.pack("<IHHQ", 2 * received.count, LABELS, received.count, received.sequence)
        for byte in header + bytes(2 * received.count):
            player.socket.sendall(bytes([byte]))
            never.wait(0.1)

    rows = game.play(raw_model=_fails_unless_clean(game, wire, trickle), raw_attack=_asks([[0]], [])(wire))
    assert rows[0].outcome is Outcome.ADVERSARIAL
    assert [failure.reason for failure in game.failures] == [Reason.TOO_SLOW]


def test_small_delays_add_up(game: Any, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 0.5)
    never = threading.Event()

    def slow(images: np.ndarray) -> np.ndarray:
        never.wait(0.1)
        return game.brightness(images)  # type: ignore[no-any-return]

    def attack(model: Any, image: Any, label: int | None, **_: Any) -> None:
        for step in range(1, 40):  # until it is not started again, and so not audited
            model(image + float(step) / 4)

    game.play(
        model=slow,
        attack=attack,
        samples=game.samples(1),
        rules=replace(game.rules, model_seconds_per_image=0.001),
    )
    assert {failure.reason for failure in game.failures} == {Reason.TOO_SLOW}


@pytest.mark.parametrize("invalid", [-1, -2, 10, 32767, -32768])
def test_a_label_out_of_range_counts_as_adversarial(game: Any, wire: Any, invalid: int) -> None:
    clean = {sample.image.tobytes() for sample in game.samples(3)}

    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.hello(MODEL)
        while (received := player.receive()).kind == 19:
            images = np.frombuffer(received.payload, np.uint8).reshape(received.count, -1)
            player.labels(received, [CLASS if image.tobytes() in clean else invalid for image in images])

    answers: list[list[int]] = []
    rows = game.play(raw_model=serve, raw_attack=_asks([[0, 1]], answers)(wire))
    assert answers == [[-1, -1]]
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.ADVERSARIAL, Outcome.FAILED]
    assert [row.reason for row in rows] == [Reason.INVALID_LABEL, Reason.INVALID_LABEL, Reason.NO_ADVERSARIAL]
    assert game.failures == ()


def test_a_model_without_a_label_for_a_clean_image_has_lost_that_sample(game: Any) -> None:
    rows = game.play(model=lambda images: np.full(len(images), 10))
    assert [(row.outcome, row.distance, row.reason) for row in rows] == [
        (Outcome.CLEAN_WRONG, 0.0, Reason.INVALID_LABEL)
    ] * 3
