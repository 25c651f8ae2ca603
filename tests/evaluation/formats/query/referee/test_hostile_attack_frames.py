"""Attacks that break the protocol: the failure is named, their results are kept, and other pieces are unaffected."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side
from evaluation.formats.query.results import Outcome

HELLO, QUERY, FINISH, LABELS = 1, 2, 3, 4
ASK_SCORES, ASK_GRADIENTS = 22, 23
ATTACK = 2

Breach = Callable[[Any], None]


def _query_payload(player: Any, number: int | None = None) -> bytes:
    return struct.pack("<H", player.samples[0] if number is None else number) + bytes(player.images[0])


def wrong_type(player: Any) -> None:
    player.send(LABELS, 1, 2, b"\0\0")


def unknown_type(player: Any) -> None:
    player.send(999, 1, 2)


def question_for_scores(player: Any) -> None:
    player.send(ASK_SCORES, 1, 2, player.images[0])


def question_for_gradients(player: Any) -> None:
    player.send(ASK_GRADIENTS, 1, 2, bytes(40) + player.images[0])


def count_of_zero(player: Any) -> None:
    player.send(QUERY, 0, 2)


def count_too_large(player: Any) -> None:
    player.send(QUERY, 65, 2, 65 * _query_payload(player))


def one_byte_short(player: Any) -> None:
    player.send(QUERY, 1, 2, _query_payload(player)[:-1])


def image_of_the_wrong_size(player: Any) -> None:
    player.send(QUERY, 1, 2, _query_payload(player)[: 2 + 4 * 4 * 3])


def oversized(player: Any) -> None:
    player.send(QUERY, 1, 2, b"", length=0xFFFFFFFF)


def endless(player: Any) -> None:
    player.send(QUERY, 1, 2, _query_payload(player) + bytes(1 << 16), length=len(_query_payload(player)))
    while True:
        player.socket.sendall(bytes(1 << 16))


def two_frames_at_once(player: Any) -> None:
    payload = _query_payload(player)
    second = struct.pack("<IHHQ", len(payload), QUERY, 1, 3) + payload
    player.send(QUERY, 1, 2, payload + second, length=len(payload))


def sequence_skipped(player: Any) -> None:
    player.send(QUERY, 1, 3, _query_payload(player))


def old_sequence(player: Any) -> None:
    player.ask(2, [player.samples[0]], [player.brighter(0, 1)])
    player.send(QUERY, 1, 1, _query_payload(player))


def largest_sequence(player: Any) -> None:
    player.send(QUERY, 1, 2**64 - 1, _query_payload(player))


def finish_out_of_sequence(player: Any) -> None:
    player.finish(7)


def unknown_sample(player: Any) -> None:
    player.send(QUERY, 1, 2, _query_payload(player, 60000))


def finish_for_an_unknown_sample(player: Any) -> None:
    player.send(FINISH, 1, 2, struct.pack("<HH", 60000, 0))


def disconnect_in_mid_frame(player: Any) -> None:
    player.socket.sendall(struct.pack("<IHHQ", len(_query_payload(player)), QUERY, 1, 2) + bytes(50))
    player.socket.shutdown(socket.SHUT_RDWR)


def disconnect(player: Any) -> None:
    player.socket.shutdown(socket.SHUT_RDWR)


BREACHES: list[tuple[Breach, Reason]] = [
    (wrong_type, Reason.BAD_TYPE),
    (unknown_type, Reason.BAD_TYPE),
    (question_for_scores, Reason.BAD_TYPE),
    (question_for_gradients, Reason.BAD_TYPE),
    (count_of_zero, Reason.BAD_COUNT),
    (count_too_large, Reason.BAD_COUNT),
    (one_byte_short, Reason.BAD_LENGTH),
    (image_of_the_wrong_size, Reason.BAD_LENGTH),
    (oversized, Reason.BAD_LENGTH),
    (endless, Reason.UNEXPECTED_BYTES),
    (two_frames_at_once, Reason.UNEXPECTED_BYTES),
    (sequence_skipped, Reason.BAD_SEQUENCE),
    (old_sequence, Reason.BAD_SEQUENCE),
    (largest_sequence, Reason.BAD_SEQUENCE),
    (finish_out_of_sequence, Reason.BAD_SEQUENCE),
    (unknown_sample, Reason.UNKNOWN_SAMPLE),
    (finish_for_an_unknown_sample, Reason.UNKNOWN_SAMPLE),
    (disconnect_in_mid_frame, Reason.DISCONNECTED),
    (disconnect, Reason.DISCONNECTED),
]


@pytest.mark.parametrize(("breach", "reason"), BREACHES, ids=lambda value: getattr(value, "__name__", None))
def test_it_names_the_breach_and_keeps_what_was_found(game: Any, wire: Any, breach: Breach, reason: Reason) -> None:
    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        player.ask(1, [player.samples[0]], [player.brighter(0, 20)])
        breach(player)
        player.wait_for_disconnect()

    rows = game.play(raw_attack=serve)
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.FAILED, Outcome.FAILED]
    assert [row.reason for row in rows] == [reason] * 3
    assert [row.distance == row.worst_case for row in rows] == [False, True, True]
    assert [(failure.side, failure.reason) for failure in game.failures] == [(Side.ATTACK, reason)]
    assert game.audit.passed


def _hello(magic: bytes = b"GNTL", version: int = 1, role: int = ATTACK) -> bytes:
    return struct.pack("<IHHQ4sHH", 8, HELLO, 0, 0, magic, version, role)


BAD_HELLOS = {
    "wrong magic": _hello(magic=b"HTTP"),
    "wrong version": _hello(version=2),
    "the other role": _hello(role=1),
    "a role that is none": _hello(role=77),
    "not a hello": struct.pack("<IHHQ", 0, FINISH, 0, 0),
    "wrong length": struct.pack("<IHHQ", 0xFFFFFFFF, HELLO, 0, 0),
    "wrong count": struct.pack("<IHHQ4sHH", 8, HELLO, 3, 0, b"GNTL", 1, ATTACK),
    "another protocol": b"GET / HTTP/1.1\r\nHost: referee\r\n\r\n",
}


@pytest.mark.parametrize("hello", BAD_HELLOS.values(), ids=BAD_HELLOS.keys())
def test_it_rejects_a_bad_hello_once_in_each_piece(game: Any, wire: Any, hello: bytes) -> None:
    def serve(connected: socket.socket) -> None:
        connected.sendall(hello)
        wire(connected).wait_for_disconnect()

    rows = game.play(raw_attack=serve, rules=replace(game.rules, piece_samples=1))
    assert [(row.outcome, row.reason) for row in rows] == [(Outcome.FAILED, Reason.BAD_HELLO)] * 3
    assert [failure.in_setup for failure in game.failures] == [True]
    assert game.attack_connection.opened == 3


def test_it_rejects_an_attack_that_never_says_hello(game: Any, wire: Any) -> None:
    rows = game.play(
        raw_attack=lambda connected: wire(connected).wait_for_disconnect(), rules=replace(game.rules, setup_seconds=0.2)
    )
    assert [(row.outcome, row.reason) for row in rows] == [(Outcome.FAILED, Reason.TOO_SLOW)] * 3


def test_it_rejects_a_frame_that_comes_byte_by_byte(game: Any, wire: Any) -> None:
    never = threading.Event()

    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        player.ask(1, [player.samples[0]], [player.brighter(0, 20)])
        for byte in struct.pack("<IHHQ", len(_query_payload(player)), QUERY, 1, 2) + _query_payload(player):
            player.socket.sendall(bytes([byte]))
            never.wait(0.05)  # 210 bytes of it are ten seconds

    rows = game.play(raw_attack=serve, rules=replace(game.rules, attack_seconds_per_sample=0.2))
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL, Outcome.FAILED, Outcome.FAILED]
    assert [row.reason for row in rows] == [Reason.TOO_SLOW] * 3


def test_it_charges_the_time_that_an_attack_takes_to_read(game: Any, wire: Any) -> None:
    never = threading.Event()

    def unread(connected: socket.socket) -> int:
        return int.from_bytes(fcntl.ioctl(connected, termios.FIONREAD, bytes(4)), "little")

    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        sequence = 0
        for _ in range(16):  # fill the socket with answers, let the referee wait, empty it
            stalled = False
            while not stalled:
                before = unread(connected)
                sequence += 1
                player.query(sequence, [player.samples[0]], [player.brighter(0, 20)])
                waited = 0
                while unread(connected) == before and not stalled:
                    never.wait(0.0001)
                    waited += 1
                    stalled = waited > 1000
            connected.recv(unread(connected))
            connected.recv(1)  # of the answer that had to wait

    rows = game.play(raw_attack=serve, rules=replace(game.rules, attack_seconds_per_sample=0.5))
    assert rows[0].outcome is Outcome.ADVERSARIAL
    assert [(failure.side, failure.reason) for failure in game.failures] == [(Side.ATTACK, Reason.TOO_SLOW)]


def test_the_next_piece_is_played_by_a_fresh_attack(game: Any, wire: Any) -> None:
    def serve(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        player.ask(1, [player.samples[0]], [player.brighter(0, 20)])
        player.send(QUERY, 0, 2)
        player.wait_for_disconnect()

    rows = game.play(raw_attack=serve, samples=game.samples(5), rules=replace(game.rules, piece_samples=1))
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 5
    assert [row.reason for row in rows] == [Reason.BAD_COUNT] * 5
    assert game.attack_connection.opened == 5
    assert [[failure.reason for failure in piece.failures] for piece in game.pieces] == [[Reason.BAD_COUNT]] * 5
