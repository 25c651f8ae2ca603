"""A submission in its sandbox as a model: what it is asked, and how its failures end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import Program
from evaluation.formats.curves.attacks.base import Findings
from evaluation.formats.curves.models.sandboxed import ModelFailedError, SandboxedClassifier, as_images, sandboxed
from evaluation.formats.curves.threat_models import Knowledge, Norm
from evaluation.sandbox.process import ProcessSandbox
from gauntlet import frames

Start = Callable[..., AbstractContextManager[SandboxedClassifier]]

FIRST_VALUE = "import gauntlet\ngauntlet.serve_model(lambda images: images[:, 0, 0, 0].astype(int))\n"
"""It answers the first value of each image."""

HANDSHAKE = """
import os, socket
from gauntlet import frames
connected = socket.socket(socket.AF_UNIX)
connected.connect(os.environ["GAUNTLET_SOCKET"])
hello = frames.HELLO_PAYLOAD.pack(frames.MAGIC, frames.VERSION, frames.ROLE_MODEL)
connected.sendall(frames.HEADER.pack(len(hello), frames.HELLO, 0, 0) + hello)
connected.recv(1 << 16)

def send(kind, count, sequence, size):
    connected.sendall(frames.HEADER.pack(size, kind, count, sequence) + bytes(size))
    input()

"""


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a program as a model of images of 2 x 2 pixels."""

    def started(
        code: str, setup_seconds: float = 60.0, calibration: float = 1.0
    ) -> AbstractContextManager[SandboxedClassifier]:
        (tmp_path / "main.py").write_text(code)
        program = Program("Model", (sys.executable, "main.py"), "sha256:1", tmp_path)
        return sandboxed(
            program, sandbox=ProcessSandbox(), shape=ImageShape(2, 2, 3), classes=10, setup_seconds=setup_seconds,
            seconds_per_image=0.04, calibration=calibration,
        )  # fmt: skip

    return started


def test_it_answers_the_label_of_each_image_rounded_to_8_bits(start: Start) -> None:
    images = torch.zeros(70, 3, 2, 2)
    images[:, 0, 0, 0] = torch.arange(70) % 10 / 255 + 0.4 / 255
    with start(FIRST_VALUE) as model:
        assert model.labels(images).tolist() == [number % 10 for number in range(70)]
        assert (model.name, model.digest, model.images) == ("Model", "sha256:1", 70)
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


def test_a_player_that_never_connects_fails(start: Start) -> None:
    with pytest.raises(ModelFailedError) as failed, start("import time\ntime.sleep(600)", setup_seconds=0.2):
        pass
    assert failed.value.reason is Reason.NEVER_CONNECTED
