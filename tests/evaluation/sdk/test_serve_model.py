"""Models served by the SDK: what predict may return, and how the process ends."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.formats.query.results import Outcome
from gauntlet import frames, serve_model


def no_attack(*_: Any, **__: Any) -> None:
    return None


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint8, np.uint32])
def test_it_works(game: Any, dtype: Any) -> None:
    rows = game.play(attack=no_attack, model=lambda images: game.brightness(images).astype(dtype))
    assert [row.outcome for row in rows] == [Outcome.FAILED] * 3
    assert game.failures == ()


def test_a_list_of_labels_will_do(game: Any) -> None:
    assert game.play(attack=no_attack, model=lambda images: [3] * len(images))[0].outcome is Outcome.FAILED


def test_it_gives_images_of_the_competition(game: Any) -> None:
    shapes: list[tuple[Any, Any]] = []

    def predict(images: np.ndarray) -> Any:
        shapes.append((images.shape[1:], images.dtype))
        return game.brightness(images)

    game.play(attack=no_attack, model=predict)
    assert set(shapes) == {((8, 8, 3), np.dtype(np.uint8))}


@pytest.mark.parametrize("label", [10, -1, -2, 40_000, -70_000, 65_536 + 3, 2**40 + 3])
def test_a_label_out_of_range_is_no_label(game: Any, label: int) -> None:
    """Nor does it wrap round to a valid one on the wire."""
    rows = game.play(attack=no_attack, model=lambda images: np.full(len(images), label))
    assert [(row.outcome, row.reason) for row in rows] == [(Outcome.CLEAN_WRONG, Reason.INVALID_LABEL)] * 3


@pytest.mark.parametrize(
    "predict",
    [
        lambda images: [3],
        lambda images: [[3]] * len(images),
        lambda images: [3.0] * len(images),
        lambda images: ["3"] * len(images),
        lambda images: None,
        lambda images: np.zeros((len(images), 10)),
    ],
    ids=["too few", "columns", "floats", "text", "nothing", "logits"],
)
def test_it_rejects_what_is_not_one_integer_for_each_image(predict: Any) -> None:
    with pytest.raises(ValueError, match="one integer label for each"):
        serve(predict, frame(frames.WELCOME, 0, WELCOME), frame(frames.PREDICT, 2, bytes(6)))


WELCOME = frames.WELCOME_PAYLOAD.pack(1, frames.ROLE_MODEL, 1, 1, 3, 10, 64, 0, 0)


def frame(kind: int, count: int, payload: bytes) -> bytes:
    return frames.HEADER.pack(len(payload), kind, count, 1) + payload


def serve(predict: Any, *sent: bytes) -> None:
    """Serve to a referee that sends all of its side ahead, and then no more."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"".join(sent))
        ours.shutdown(socket.SHUT_WR)
        serve_model(predict, connected=theirs)


def test_it_ends_after_bye() -> None:
    serve(no_attack, frame(frames.WELCOME, 0, WELCOME), frame(frames.BYE, 0, b""))


def test_it_ends_with_the_referees_words_when_it_is_rejected() -> None:
    with pytest.raises(SystemExit, match="the referee closed the connection: late"):
        serve(no_attack, frame(frames.REJECTED, 0, b"late"))


def test_it_ends_with_the_referees_words_when_they_cross_with_its_own() -> None:
    """The referee has said why and hung up while the player was still about to send."""
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(frame(frames.REJECTED, 0, b"late"))
        ours.close()
        with pytest.raises(SystemExit, match="the referee closed the connection: late"):
            serve_model(no_attack, connected=theirs)


def test_it_ends_quietly_when_the_referee_is_gone(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        serve(no_attack, frame(frames.WELCOME, 0, WELCOME))
    assert raised.value.code == 0
    assert "the referee has gone" in capfd.readouterr().err


def test_it_rejects_an_answer_to_hello_that_is_no_welcome() -> None:
    with pytest.raises(RuntimeError, match="type 17"):
        serve(no_attack, frame(frames.PIECE, 0, b""))


def test_it_rejects_to_run_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GAUNTLET_SOCKET", raising=False)
    with pytest.raises(SystemExit, match="GAUNTLET_SOCKET is not set"):
        serve_model(no_attack)
