"""Requests to a real server on this host, with TLS."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.platform.webhooks.conftest import TestReceiver, names
from webhooks import delivery_request
from webhooks.delivery_request import ANSWER_BYTES, Answer
from webhooks.receiver_address import LOOPBACK, read_receiver

Post = Callable[..., Answer]


def test_the_connection_goes_to_the_checked_address_with_the_name_of_the_receiver(
    receiver: TestReceiver, post: Post
) -> None:
    receiver.status, receiver.text = 200, b"thanks"
    answer = post(read_receiver(receiver.address), b"{}", {"Gauntlet-Event": "test"}, allowed=LOOPBACK)
    assert (answer.status, answer.text, answer.problem, answer.succeeded) == (200, "thanks", "", True)
    ((path, headers, body),) = receiver.requests
    assert (path, body) == ("/gauntlet?room=7", b"{}")
    assert headers["Host"] == f"hooks.example:{receiver.port}"
    assert headers["Gauntlet-Event"] == "test"


def test_the_loopback_address_is_refused_unless_it_is_allowed(receiver: TestReceiver, post: Post) -> None:
    answer = post(read_receiver(receiver.address), b"{}", {}, allowed=())
    assert answer.problem == "hooks.example has the address 127.0.0.1, which is not public"
    assert (answer.status, receiver.requests) == (None, [])


def test_a_name_is_resolved_once(receiver: TestReceiver, trusted: ssl.SSLContext) -> None:
    asked = []

    def changing(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    answer = delivery_request.post(
        read_receiver(receiver.address), b"{}", {}, allowed=LOOPBACK, resolve=changing, context=trusted
    )
    assert (answer.succeeded, asked) == (True, ["hooks.example"])


def test_the_next_address_is_tried_if_one_does_not_answer(receiver: TestReceiver, trusted: ssl.SSLContext) -> None:
    answer = delivery_request.post(
        read_receiver(receiver.address), b"{}", {}, allowed=LOOPBACK, context=trusted,
        resolve=lambda host: ["127.0.0.2", "127.0.0.1"],
    )  # fmt: skip
    assert answer.succeeded


def test_it_rejects_a_certificate_that_nobody_vouches_for_or_of_another_name(
    receiver: TestReceiver, trusted: ssl.SSLContext
) -> None:
    unknown = delivery_request.post(read_receiver(receiver.address), b"{}", {}, allowed=LOOPBACK, resolve=names)
    assert "certificate is not valid" in unknown.problem
    other = receiver.address.replace("hooks.example", "other.example")
    answer = delivery_request.post(
        read_receiver(other), b"{}", {}, allowed=LOOPBACK, resolve=lambda host: ["127.0.0.1"], context=trusted
    )
    assert "certificate is not valid" in answer.problem
    assert receiver.requests == []


def test_a_redirect_is_not_followed(receiver: TestReceiver, post: Post) -> None:
    receiver.status, receiver.headers = 302, {"Location": receiver.address}
    answer = post(read_receiver(receiver.address), b"{}", {}, allowed=LOOPBACK)
    assert (answer.status, answer.succeeded, len(receiver.requests)) == (302, False, 1)


def test_the_answer_is_read_up_to_a_limit(receiver: TestReceiver, post: Post) -> None:
    receiver.status, receiver.text = 500, b"x" * 100_000
    answer = post(read_receiver(receiver.address), b"{}", {}, allowed=LOOPBACK)
    assert (answer.status, len(answer.text)) == (500, ANSWER_BYTES)


def test_a_receiver_that_sends_bytes_without_end_is_left_at_the_deadline(
    receiver: TestReceiver, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_request, "SECONDS", 0.3)
    receiver.endless = True
    answer = post(read_receiver(receiver.address), b"{}", {}, allowed=LOOPBACK)
    assert (answer.status, answer.problem) == (None, "no answer within 0.3 s")


def test_a_closed_port_is_a_problem(receiver: TestReceiver, post: Post) -> None:
    address = receiver.address.replace(str(receiver.port), "1025")
    assert post(read_receiver(address), b"{}", {}, allowed=LOOPBACK).problem == "no answer: Connection refused"


def test_many_addresses_that_do_not_answer_are_left_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of a name decides how many it has."""
    monkeypatch.setattr(delivery_request, "SECONDS", 0.5)
    monkeypatch.setattr(delivery_request, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("0.0.0.0", 0), backlog=0) as full, ExitStack() as waiting:  # noqa: S104 - every 127.x.x.x
        port = full.getsockname()[1]
        for _ in range(3):  # further connections get no answer
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        began = time.monotonic()
        answer = delivery_request.post(
            read_receiver(f"https://hooks.example:{port}/"), b"{}", {}, allowed=LOOPBACK,
            resolve=lambda host: [f"127.0.0.{number}" for number in range(2, 40)],
        )  # fmt: skip
    assert answer.problem == "no answer within 0.5 s"
    assert time.monotonic() - began < 2
