"""A busy host makes no player slow, and hides none that sleeps, in both sandboxes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.referee.match_players import Model, PlayerFailedError
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.protocol import model_time
from evaluation.protocol.model_time import CLOCK_GRACE_FACTOR, MODEL_GRACE_SECONDS
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox

RULES = QueryRules(classes=10, setup_seconds=60.0, model_seconds_per_image=0.040)
GRACE = 1.0
BUSY = 3
PIXELS = bytes(RULES.shape.size)

COMPUTING = """
    import os, socket, struct, time
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.environ["GAUNTLET_SOCKET"])
    header = struct.Struct("<IHHQ")
    connection.sendall(header.pack(8, 1, 0, 0) + struct.pack("<4sHH", b"GNTL", 1, 1))
    kind = None
    while kind != 21:
        length, kind, count, sequence = header.unpack(connection.recv(16, socket.MSG_WAITALL))
        connection.recv(length, socket.MSG_WAITALL)
        if kind != 19:
            continue
        {helper}
        end = time.process_time() + {seconds} * count
        while time.process_time() < end:
            pass
        {wait}
        connection.sendall(header.pack(2 * count, 4, count, sequence) + bytes(2 * count))
"""
FORK = "child = os.fork()"
WAIT = "os._exit(0) if child == 0 else os.waitpid(child, 0)"
SLEEP = "time.sleep(0.39)"


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    if request.param == "docker":
        return DockerSandbox()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return ProcessSandbox()


@pytest.fixture
def connect(tmp_path: Path, sandbox: Sandbox) -> Callable[..., SandboxedPlayer]:
    def build(seconds: float, helper: str = "", wait: str = "", *, gpu: bool = False) -> SandboxedPlayer:
        source = textwrap.dedent(COMPUTING).format(seconds=seconds, helper=helper, wait=wait)
        image = sandbox.base_image if isinstance(sandbox, DockerSandbox) else None
        directory = None if image else tmp_path
        command = ("python3", "-c", source)
        player = QueryPlayer("computing", command, "digest", directory, image, gpu=gpu, track=TrackName.MODEL)
        return SandboxedPlayer(sandbox, player, Resources(memory_bytes=512 << 20))

    return build


@pytest.fixture
def make(connect: Callable[..., SandboxedPlayer], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Model]:
    # the clock keeps the reserve that it has on a site: other tests may hold this host up for seconds
    reserve = CLOCK_GRACE_FACTOR * MODEL_GRACE_SECONDS
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", GRACE)
    monkeypatch.setattr(model_time, "CLOCK_GRACE_FACTOR", reserve / GRACE)
    return lambda *computing: Model(connect(*computing), TrackName.UNTARGETED, RULES, 1.0)


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep `count` processes computing, each with a share of its own: Linux gives the processes of a session one."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.parametrize(
    ("seconds", "helper", "wait"), [(0.030, "", ""), (0.010, FORK, WAIT)], ids=["alone", "with a helper"]
)
def test_a_model_near_its_limit_is_not_slow_on_a_busy_host(
    make: Callable[..., Model], seconds: float, helper: str, wait: str
) -> None:
    """A model near its limit, on a host with other busy processes: slow by the clock, and not by its own.

    A helper that ends with each frame takes what it waited with it.
    """
    model = make(seconds, helper, wait)
    try:
        model.channel()
        with busy(BUSY):
            began = time.monotonic()
            for _ in range(4):
                assert model.classify(PIXELS, 1) == [0]
            taken = time.monotonic() - began
        assert model.seconds_per_image <= min(0.040, taken / 4)
    finally:
        model.close()


@pytest.mark.parametrize(("helper", "wait"), [("", ""), (FORK, WAIT)], ids=["alone", "with a helper"])
def test_a_model_that_computes_too_long_is_too_slow(
    make: Callable[..., Model], monkeypatch: pytest.MonkeyPatch, helper: str, wait: str
) -> None:
    """On a busy host as well, and when it leaves the work to a process of its own."""
    # until it is used up, all processors are busy
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", GRACE / 10)
    model = make(0.075 if helper else 0.150, helper, wait)

    def ask_often() -> None:
        for _ in range(12):
            model.classify(PIXELS, 1)

    try:
        model.channel()
        with busy(BUSY), pytest.raises(PlayerFailedError) as raised:
            ask_often()
        assert raised.value.failure.reason is Reason.TOO_SLOW
    finally:
        model.close()


@pytest.mark.parametrize("others", [0, BUSY], ids=["quiet", "busy"])
def test_a_model_that_sleeps_is_too_slow(
    make: Callable[..., Model], monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """It takes less than ten times its limit, as a model may on a busy host, and computes next to nothing."""
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", GRACE / 4)
    model = make(0.002, "", SLEEP)

    def ask_often() -> None:
        for _ in range(12):
            model.classify(PIXELS, 1)

    try:
        model.channel()
        with busy(others), pytest.raises(PlayerFailedError) as raised:
            ask_often()
        assert raised.value.failure.reason is Reason.TOO_SLOW
    finally:
        model.close()


@pytest.mark.parametrize("gpu", [False, True])
def test_the_work_of_a_gpu_is_no_processor_time(connect: Callable[..., SandboxedPlayer], gpu: bool) -> None:
    """A player that waits for its GPU works: it is timed by the clock."""
    connection = connect(0.0, gpu=gpu)
    connected, _ = connection.open(60.0)
    try:
        assert (connection.processor_use() is None) == gpu
    finally:
        connected.close()
        connection.give_up()
        connection.dismiss()
    assert connection.processor_use() is None
