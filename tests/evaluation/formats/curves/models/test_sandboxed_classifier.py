"""A submission in its sandbox as a model: what it is asked, and how its failures end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import Program
from evaluation.domain.processor_use import ProcessorUse, ThreadUse
from evaluation.formats.curves.attacks.base import Findings
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.models.replayed_queries_check import ReplayedQueries
from evaluation.formats.curves.models.sandboxed_classifier import (
    ModelFailedError,
    OnAnswer,
    SandboxedClassifier,
    as_images,
    sandboxed,
)
from evaluation.formats.curves.threat_models import Knowledge, Norm
from evaluation.protocol import model_time
from evaluation.sandbox.process_sandbox import ProcessRun, ProcessSandbox
from gauntlet import frames

Start = Callable[..., AbstractContextManager[SandboxedClassifier]]

FIRST_VALUE = "import gauntlet\ngauntlet.serve_model(lambda images: images[:, 0, 0, 0].astype(int))\n"
"""It answers the first value of each image."""

LINEAR = """
import gauntlet, numpy
weights = numpy.random.default_rng(0).normal(size=(12, 10)).astype(numpy.float32)

def scores(images):
    return images.reshape(len(images), 12) / numpy.float32(255) @ weights

def gradients(images, of_scores):
    return (of_scores @ weights.T / 255).reshape(images.shape)

def predict(images):
    return scores(images).argmax(axis=1)

"""
"""A linear model with ten classes."""

SERVED = LINEAR + "gauntlet.serve_model(predict, scores=scores, gradients=gradients)\n"

SLEEPING = """
import gauntlet, time
time.sleep({start})

def predict(images):
    time.sleep({each})
    return [0] * len(images)

gauntlet.serve_model(predict)
"""
"""It sleeps for so many seconds when it starts, and before each answer."""

RESERVE = 0.1
"""The calibration with which ten images, each asked alone, may take 1.04 s."""

HANDSHAKE = """
import os, socket
from gauntlet import frames
connected = socket.socket(socket.AF_UNIX)
connected.connect(os.environ["GAUNTLET_SOCKET"])
hello = frames.HELLO_PAYLOAD.pack(frames.MAGIC, frames.VERSION, frames.ROLE_MODEL)
connected.sendall(frames.HEADER.pack(len(hello), frames.HELLO, 0, 3) + hello)
connected.recv(1 << 16)

def send(kind, count, sequence, size, value=0):
    connected.sendall(frames.HEADER.pack(size, kind, count, sequence) + bytes([value]) * size)
    connected.recv(1 << 16)  # the question
    connected.recv(1 << 16)  # until it is rejected

"""


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a program as a model of images of 2 x 2 pixels."""

    def started(
        code: str, setup_seconds: float = 60.0, calibration: float = 1.0, on_answer: OnAnswer | None = None
    ) -> AbstractContextManager[SandboxedClassifier]:
        (tmp_path / "main.py").write_text(code)
        program = Program("Model", (sys.executable, "main.py"), "sha256:1", tmp_path)
        return sandboxed(
            program, sandbox=ProcessSandbox(), shape=ImageShape(2, 2, 3), classes=10, setup_seconds=setup_seconds,
            seconds_per_image=0.04, calibration=calibration, on_answer=on_answer,
        )  # fmt: skip

    return started


def test_it_answers_the_label_of_each_image_rounded_to_8_bits(start: Start) -> None:
    images = torch.zeros(70, 3, 2, 2)
    images[:, 0, 0, 0] = torch.arange(70) % 10 / 255 + 0.4 / 255
    with start(FIRST_VALUE) as model:
        assert model.labels(images).tolist() == [number % 10 for number in range(70)]
        assert (model.name, model.digest) == ("Model", "sha256:1")
        assert model.offers == {Knowledge.DECISION}


def test_a_label_that_is_no_class_is_none(start: Start) -> None:
    images = torch.zeros(2, 3, 2, 2)
    images[1, 0, 0, 0] = 10 / 255
    with start(FIRST_VALUE) as model:
        assert model.labels(images).tolist() == [0, frames.UNCLASSIFIED]


def test_distances_are_of_the_images_that_it_sees(start: Start) -> None:
    clean = torch.zeros(1, 3, 2, 2)
    with start(FIRST_VALUE) as model:
        findings = Findings(clean, Norm.LINF, (1,), model.seen)
        findings.add(clean + 0.6 / 255, torch.tensor([0]), 1)
    assert findings.distances.tolist() == pytest.approx([1 / 255])
    assert findings.traces.tolist() == [findings.distances.tolist()]
    assert torch.equal(findings.images, as_images(np.ones((1, 2, 2, 3), np.uint8)))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(3)", Reason.EXITED_IN_SETUP),
        (HANDSHAKE + "raise SystemExit(3)", Reason.CRASHED),
        (HANDSHAKE + "connected.close()", Reason.DISCONNECTED),
        (HANDSHAKE + "send(frames.LABELS, 2, 1, 4)", Reason.BAD_COUNT),
        (HANDSHAKE + "send(frames.LABELS, 1, 7, 2)", Reason.BAD_SEQUENCE),
        (HANDSHAKE + "send(frames.BYE, 0, 0, 0)", Reason.BAD_TYPE),
    ],
)  # fmt: skip
def test_a_player_that_breaks_the_protocol_fails_with_the_reason(start: Start, code: str, reason: Reason) -> None:
    with pytest.raises(ModelFailedError) as failed, start(code) as model:
        model.labels(torch.zeros(1, 3, 2, 2))
    assert failed.value.reason is reason


def test_a_player_that_hangs_is_too_slow(start: Start) -> None:
    code = "import gauntlet, time\ngauntlet.serve_model(lambda images: time.sleep(600))\n"
    with pytest.raises(ModelFailedError) as failed, start(code, calibration=0.005, setup_seconds=12_000) as model:
        model.labels(torch.zeros(1, 3, 2, 2))
    assert failed.value.reason is Reason.TOO_SLOW


def ask_one_by_one(model: SandboxedClassifier, count: int) -> None:
    """Ask about `count` images, each in a frame of its own."""
    for _ in range(count):
        model.labels(torch.zeros(1, 3, 2, 2))


def test_a_player_that_sleeps_before_each_answer_is_too_slow(start: Start) -> None:
    """Each answer alone is within the reserve, which is one for all of them."""
    with (
        pytest.raises(ModelFailedError) as failed,
        start(SLEEPING.format(start=0, each=0.9), calibration=RESERVE) as model,
    ):
        ask_one_by_one(model, 10)
    assert failed.value.reason is Reason.TOO_SLOW
    assert "idle for most of the time" in failed.value.detail


def test_each_start_has_the_whole_reserve_however_long_it_took(start: Start) -> None:
    for _ in range(2):
        with start(SLEEPING.format(start=1.5, each=0.6), calibration=RESERVE, setup_seconds=600) as model:
            ask_one_by_one(model, 1)


def test_many_small_frames_use_up_no_reserve_of_a_fast_player(start: Start) -> None:
    with start(FIRST_VALUE, calibration=RESERVE) as model:
        ask_one_by_one(model, 500)
        assert model.seconds_per_image > 0


def test_a_player_does_not_pay_for_the_time_between_questions(start: Start) -> None:
    with start(FIRST_VALUE, calibration=RESERVE) as model:
        for _ in range(2):
            ask_one_by_one(model, 1)
            time.sleep(1.5)
        ask_one_by_one(model, 1)


def test_what_the_host_takes_is_given_back(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A player that is ready and waits for a processor is not slow, where one that sleeps is."""
    monkeypatch.setattr(model_time, "CLOCK_GRACE_FACTOR", 1000.0)  # however busy the host of the test is

    def held_up(_: ProcessRun) -> ProcessorUse:
        return ProcessorUse(0.0, {1: ThreadUse(0.0, time.monotonic())})

    monkeypatch.setattr(ProcessRun, "processor_use", held_up)
    with start(SLEEPING.format(start=0, each=0.6), calibration=RESERVE) as model:
        ask_one_by_one(model, 4)
        assert model.seconds_per_image < 0.3


def test_a_player_that_never_connects_fails(start: Start) -> None:
    with pytest.raises(ModelFailedError) as failed, start("import time\ntime.sleep(600)", setup_seconds=3.0):
        pass
    assert failed.value.reason is Reason.NEVER_CONNECTED


def linear() -> NetworkClassifier:
    """Return the network of `LINEAR`, in this process."""
    weights = np.random.default_rng(0).normal(size=(12, 10)).astype(np.float32)
    layer = nn.Linear(12, 10, bias=False)
    layer.load_state_dict({"weight": torch.from_numpy(weights.T.copy())})

    class Network(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            logits: Tensor = layer(images.permute(0, 2, 3, 1).flatten(1))
            return logits

    return NetworkClassifier(Network(), 10)


def test_scores_and_gradients_are_those_of_the_same_network_in_this_process(start: Start) -> None:
    images = torch.rand(70, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    rows = torch.arange(70) % 10

    def loss(logits: Tensor) -> Tensor:
        return cross_entropy(logits, rows, reduction="none")

    with start(SERVED) as model:
        assert model.offers == {Knowledge.DECISION, Knowledge.SCORE, Knowledge.WHITE_BOX}
        scores, gradient = model.gradient(images, loss)
        expected_scores, expected = linear().gradient(model.seen(images), loss)
        assert torch.allclose(model.logits(images), scores)
    assert torch.allclose(scores, expected_scores, atol=1e-5)
    assert torch.allclose(gradient, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("served", "offers"),
    [
        ("gauntlet.serve_model(predict)", {Knowledge.DECISION}),
        ("gauntlet.serve_model(predict, scores=scores)", {Knowledge.DECISION, Knowledge.SCORE}),
    ],
)
def test_what_a_model_does_not_offer_is_an_error_of_its_team(start: Start, served: str, offers: set[Knowledge]) -> None:
    with start(LINEAR + served) as model:
        assert model.offers == offers
        with pytest.raises(ModelFailedError) as failed:
            model.gradient(torch.zeros(1, 3, 2, 2), lambda logits: logits[:, 0])
    assert failed.value.reason is Reason.NOT_OFFERED


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("send(frames.SCORES, 1, 1, 40, 255)", Reason.INVALID_NUMBERS),  # NaN
        ("send(frames.SCORES, 1, 1, 40, 0x7E)", Reason.INVALID_NUMBERS),  # 8.5e37
        ("send(frames.SCORES, 1, 1, 36)", Reason.BAD_LENGTH),
        ("send(frames.SCORES, 2, 1, 80)", Reason.BAD_COUNT),
        ("send(frames.LABELS, 1, 1, 2)", Reason.BAD_TYPE),
    ],
)
def test_scores_that_no_attack_can_use_fail_with_the_reason(start: Start, code: str, reason: Reason) -> None:
    with pytest.raises(ModelFailedError) as failed, start(HANDSHAKE + code) as model:
        model.logits(torch.zeros(1, 3, 2, 2))
    assert failed.value.reason is reason


def test_a_loss_that_equal_scores_leave_undefined_is_no_error(start: Start) -> None:
    equal = LINEAR + "gauntlet.serve_model(predict, scores=lambda images: scores(images) * 0, gradients=gradients)"
    with start(equal) as model:
        _, gradient = model.gradient(torch.zeros(1, 3, 2, 2), lambda logits: logits[:, 0] / logits.sum(dim=1))
    assert gradient.isfinite().all()


def replayed(start: Start, changed: str) -> None:
    """Ask a model for scores and gradients, and again a fresh instance whose functions have changed."""
    questions, images = ReplayedQueries(0), torch.rand(40, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    with start(SERVED, on_answer=questions.add) as model:
        model.gradient(images, lambda logits: logits[:, 0])
    with start(LINEAR + changed + "\ngauntlet.serve_model(predict, scores=scores, gradients=gradients)") as fresh:
        questions.ask(fresh)


@pytest.mark.parametrize(
    "rounding",
    ["", "scores = lambda images, of=scores: of(images) * 1.0001 + 100"],
)
def test_scores_that_differ_by_rounding_or_a_constant_are_the_same(start: Start, rounding: str) -> None:
    replayed(start, rounding)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ("predict = lambda images: (scores(images).argmax(axis=1) + 1) % 10", Reason.SCORES_DISAGREE),
        ("scores = lambda images, of=scores: of(images) * 1.2", Reason.INCONSISTENT),
        ("gradients = lambda images, of_scores, of=gradients: of(images, of_scores) * 1.2", Reason.INCONSISTENT),
    ],
)
def test_a_fresh_instance_that_answers_otherwise_fails_the_model(start: Start, changed: str, reason: Reason) -> None:
    with pytest.raises(ModelFailedError) as failed:
        replayed(start, changed)
    assert failed.value.reason is reason
