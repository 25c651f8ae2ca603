"""What is left of runners that were killed or interrupted."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest

from evaluation.sandbox.base import SOCKET_NAME
from evaluation.sandbox.host_process import HostProcess
from evaluation.sandbox.process_sandbox import ProcessSandbox

StartRunner = Callable[[str], tuple["Popen[str]", list[str]]]
ProcessNamed = Callable[[int], HostProcess]
WaitUntil = Callable[[Callable[[], bool]], None]


@pytest.fixture(autouse=True)
def _own_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def runner_source(socket_directory: Path, *, bubblewrapped: bool | None) -> str:
    return f"""
        import time
        from pathlib import Path
        from evaluation.domain.players import QueryPlayer, TrackName
        from evaluation.sandbox.base import Resources
        from evaluation.sandbox.process_sandbox import ProcessSandbox

        here = Path({str(socket_directory)!r})
        command = ("sh", "-c", "sleep 1001 & setsid sleep 1002")
        player = QueryPlayer("sleeper", command, "d", directory=here, track=TrackName.MODEL)
        sandbox = ProcessSandbox(bubblewrapped={bubblewrapped})
        run = sandbox.start(player, socket_directory=here, resources=Resources())
        try:
            print(run.pid, flush=True)
            time.sleep(1000)
        finally:
            run.end()
    """


@pytest.mark.parametrize("bubblewrapped", [None, False])
def test_a_sweep_ends_the_player_of_a_killed_runner_and_of_no_living_one(
    bubblewrapped: bool | None,
    socket_directory: Path,
    start_runner: StartRunner,
    process_named: ProcessNamed,
    wait_until: WaitUntil,
    tmp_path: Path,
) -> None:
    runner, (number,) = start_runner(runner_source(socket_directory, bubblewrapped=bubblewrapped))
    player = process_named(int(number))
    sandbox = ProcessSandbox()
    assert sandbox.sweep() == 0
    assert player.alive()
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert sandbox.sweep() == 1
    wait_until(lambda: not player.alive())
    assert not (socket_directory / SOCKET_NAME).exists()
    assert list((tmp_path / "state" / "gauntlet" / "processes").iterdir()) == []
    assert sandbox.sweep() == 0
    assert sleepers(tmp_path) == []


def test_a_sweep_leaves_the_players_of_other_hosts_alone(
    socket_directory: Path, start_runner: StartRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A home that several hosts mount: numbers of their processes mean nothing here."""
    runner, _ = start_runner(runner_source(socket_directory, bubblewrapped=None))
    with monkeypatch.context() as other_host:
        other_host.setenv("GAUNTLET_HOST", "another-host")
        other_host.setattr(HostProcess, "alive", lambda process: False)
        assert ProcessSandbox().sweep() == 0
    assert len(list((tmp_path / "state" / "gauntlet" / "processes").iterdir())) == 1
    runner.send_signal(signal.SIGINT)
    runner.wait(30)


@pytest.mark.parametrize("bubblewrapped", [None, False])
def test_an_interrupted_runner_leaves_nothing(
    bubblewrapped: bool | None,
    socket_directory: Path,
    start_runner: StartRunner,
    process_named: ProcessNamed,
    tmp_path: Path,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    runner, (number,) = start_runner(runner_source(socket_directory, bubblewrapped=bubblewrapped))
    player = process_named(int(number))
    runner.send_signal(signal.SIGINT)
    runner.wait(30)
    wait_until(lambda: not player.alive())
    assert ProcessSandbox().sweep() == 0
    assert sleepers(tmp_path) == []


def test_it_rejects_an_entry_that_it_cannot_read(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "gauntlet" / "processes"
    directory.mkdir(parents=True)
    (directory / "broken.json").write_text("{")
    assert ProcessSandbox().sweep() == 0
    assert list(directory.iterdir()) == []


def sleepers(tmp_path: Path) -> list[str]:
    """Processes that still know this test's directory from their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(tmp_path).encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found
