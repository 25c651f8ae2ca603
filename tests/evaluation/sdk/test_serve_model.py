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
def test_labels_of_any_integer_type_are_accepted(game: Any, dtype: Any) -> None:
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


def asked(kind: int, answer: int, content: bytes, **functions: Any) -> tuple[int, np.ndarray]:
    """Serve two images of one pixel; return what HELLO offers, and the numbers of the answer to one question."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(frame(frames.WELCOME, 0, WELCOME) + frame(kind, 2, content) + frame(frames.BYE, 0, b""))
        serve_model(no_attack, connected=theirs, **functions)
        got = ours.recv(4096)
    head = frames.HEADER.size
    _, _, _, offers = frames.HEADER.unpack_from(got)
    length, type_, count, sequence = frames.HEADER.unpack_from(got, head + frames.HELLO_PAYLOAD.size)
    assert (type_, count, sequence) == (answer, 2, 1)
    return offers, np.frombuffer(got[-length:], "<f4").reshape(2, -1)


IMAGES = bytes([1, 2, 3, 4, 5, 6])
WEIGHTS = np.arange(20, dtype="<f4")


def ten_scores(images: np.ndarray) -> Any:
    return images[:, 0, 0, :1] * np.arange(10.0)


def weighted(images: np.ndarray, weights: np.ndarray) -> Any:
    return images + weights.sum(axis=1)[:, None, None, None]


def test_scores_are_sent_if_they_are_offered() -> None:
    offers, scores = asked(frames.ASK_SCORES, frames.SCORES, IMAGES, scores=ten_scores)
    assert offers == frames.OFFERS_SCORES
    assert scores.tolist() == [[float(n) for n in range(10)], [4.0 * n for n in range(10)]]


def test_gradients_get_the_weights_of_the_scores() -> None:
    question = WEIGHTS.tobytes() + IMAGES
    offers, found = asked(frames.ASK_GRADIENTS, frames.GRADIENTS, question, scores=ten_scores, gradients=weighted)
    assert offers == frames.OFFERS_SCORES | frames.OFFERS_GRADIENTS
    assert found.tolist() == [[46.0, 47.0, 48.0], [149.0, 150.0, 151.0]]


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        (lambda images: np.zeros((1, 10)), r"scores returned float64 of shape \(1, 10\)"),
        (lambda images: np.zeros((2, 9)), r"it must return numbers of shape \(2, 10\)"),
        (lambda images: np.full((2, 10), "1"), "scores returned <U1"),
        (lambda images: np.full((2, 10), np.nan), "NaN or infinity"),
        (lambda images: np.full((2, 10), 1e300), "NaN or infinity"),
    ],
)
def test_it_rejects_scores_that_are_no_finite_numbers_for_each_class(scores: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        asked(frames.ASK_SCORES, frames.SCORES, IMAGES, scores=scores)


def test_it_rejects_gradients_without_scores() -> None:
    with pytest.raises(ValueError, match="gradients are offered without scores"):
        serve_model(no_attack, gradients=weighted)


def test_it_rejects_a_question_that_it_did_not_offer_to_answer() -> None:
    with pytest.raises(RuntimeError, match="type 22, which is not offered"):
        asked(frames.ASK_SCORES, frames.SCORES, IMAGES)


def test_a_match_does_not_ask_for_scores_and_gradients_that_a_model_offers(game: Any) -> None:
    """In the query format attacks see labels alone, and a referee from before these frames ignores the offer."""

    def never(*_: Any) -> Any:
        raise AssertionError("a match asked for more than labels")

    def serve(connected: socket.socket) -> None:
        serve_model(game.brightness, scores=never, gradients=never, connected=connected)

    rows = game.play(attack=one_query, raw_model=serve)
    assert [row.outcome for row in rows] == [Outcome.FAILED] * 3
    assert (game.failures, game.audit.passed) == ((), True)


def one_query(model: Any, image: Any, *_: Any, **__: Any) -> None:
    model(image)
