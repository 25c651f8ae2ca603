"""What the tests of the sandboxes share: small players, their socket, and waiting for an end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.sandbox.base import SOCKET_NAME, Ending, PlayerRun
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.host_process import HostProcess

Started = tuple["subprocess.Popen[str]", list[str]]


@pytest.fixture
def socket_directory(tmp_path: Path) -> Path:
    """A directory such as a runner makes, with a file where its socket would be."""
    directory = tmp_path / "socket"
    directory.mkdir()
    directory.chmod(0o755)  # whatever the umask: a container runs as another user
    (directory / SOCKET_NAME).touch()
    return directory


@pytest.fixture
def scripted(tmp_path: Path) -> Callable[[str], QueryPlayer]:
    """Makes a player of Python source: a checkout with one file."""

    def make(source: str) -> QueryPlayer:
        checkout = tmp_path / "checkout"
        checkout.mkdir(exist_ok=True)
        (checkout / "player.py").write_text(textwrap.dedent(source))
        return QueryPlayer("scripted", ("python", "player.py"), "digest", directory=checkout, track=TrackName.MODEL)

    return make


@pytest.fixture
def wait_for_end() -> Callable[[PlayerRun], Ending]:
    """Waits until a run has ended by itself, half a minute at most, and ends it."""

    def wait(run: PlayerRun) -> Ending:
        until(run.ended)
        return run.end()

    return wait


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Waits until something holds, half a minute at most."""
    return until


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30.0
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


@pytest.fixture
def start_runner(tmp_path: Path) -> Iterator[Callable[[str], Started]]:
    """Runs source as a runner of its own; gives its process and the words of the first line that it printed."""
    runners: list[subprocess.Popen[str]] = []

    def start(source: str) -> Started:
        runner = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(source)], stdout=subprocess.PIPE, text=True, env={**os.environ}
        )
        runners.append(runner)
        assert runner.stdout is not None
        return runner, runner.stdout.readline().split()

    yield start
    for runner in runners:
        runner.kill()
        runner.wait()
        assert runner.stdout is not None
        runner.stdout.close()


@pytest.fixture
def process_named() -> Callable[[int], HostProcess]:
    """The process that has a number now."""
    return lambda pid: HostProcess(pid, int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]))


@pytest.fixture
def docker_sandbox() -> Iterator[DockerSandbox]:
    """A docker sandbox, for tests that have an engine."""
    sandbox = DockerSandbox()
    yield sandbox
    sandbox.client.close()
