"""Starting, watching and ending a player as a process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.sandbox.base import SOCKET_NAME, Ending, PlayerRun, Resources
from evaluation.sandbox.host_process import HostProcess
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.sandbox.sdk_tree import SDK
from evaluation.sandbox.state_directory import state_directory

Scripted = Callable[[str], QueryPlayer]
WaitForEnd = Callable[[PlayerRun], Ending]


@pytest.fixture(autouse=True)
def _own_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=["as this host can", "without bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> ProcessSandbox:
    return ProcessSandbox(bubblewrapped=None if request.param == "as this host can" else False)


def test_a_player_connects_to_the_socket_and_its_output_and_end_are_reported(
    sandbox: ProcessSandbox, scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    (socket_directory / SOCKET_NAME).unlink()
    player = scripted("""
        import os, socket
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(os.environ["GAUNTLET_SOCKET"])
        connection.sendall(b"hello")
        print("said it")
    """)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_directory / SOCKET_NAME))
        listener.listen()
        listener.settimeout(30)
        run = sandbox.start(player, socket_directory=socket_directory, resources=Resources())
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(5, socket.MSG_WAITALL) == b"hello"
    assert wait_for_end(run) == Ending(0, False, "said it\n")


def test_it_rejects_a_player_that_is_an_image(sandbox: ProcessSandbox, socket_directory: Path) -> None:
    player = QueryPlayer("image", ("true",), "digest", image="gauntlet-base", track=TrackName.MODEL)
    with pytest.raises(Fault, match="runs directories"):
        sandbox.start(player, socket_directory=socket_directory, resources=Resources())


def test_a_player_imports_the_sdk_compiled_from_a_directory_that_holds_nothing_else(
    sandbox: ProcessSandbox, scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    player = scripted("""
        import gauntlet, os
        directory = os.path.dirname(os.path.dirname(gauntlet.__file__))
        print(directory, os.listdir(directory))
        print(os.path.exists(gauntlet.__cached__), gauntlet.serve_model.__code__.co_filename)
    """)
    ending = wait_for_end(sandbox.start(player, socket_directory=socket_directory, resources=Resources()))
    kept = state_directory("sdk") / SDK.digest()[:16]
    assert ending.log == f"{kept} ['gauntlet']\nTrue {kept}/gauntlet/model.py\n"


def test_a_player_in_bubblewrap_cannot_import_the_engine(
    scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    sandbox = ProcessSandbox(bubblewrapped=True)
    player = scripted("import evaluation.domain")
    ending = wait_for_end(sandbox.start(player, socket_directory=socket_directory, resources=Resources()))
    assert ending.exit_code == 1
    assert "No module named 'evaluation'" in ending.log


def test_a_player_gets_no_variable_of_the_engine(
    sandbox: ProcessSandbox,
    scripted: Scripted,
    socket_directory: Path,
    wait_for_end: WaitForEnd,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_SECRET", "1234")
    player = scripted("import os; print('A_SECRET' in os.environ, os.environ['OMP_NUM_THREADS'])")
    ending = wait_for_end(sandbox.start(player, socket_directory=socket_directory, resources=Resources(cpus=2.5)))
    assert ending.log == "False 2\n"


def test_of_endless_output_the_end_is_kept(
    sandbox: ProcessSandbox, scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    player = scripted("for number in range(30_000): print('noise', number)\nprint('last')")
    ending = wait_for_end(sandbox.start(player, socket_directory=socket_directory, resources=Resources(log_bytes=1000)))
    assert len(ending.log) == 1000
    assert ending.log.endswith("noise 29999\nlast\n")


def test_directories_nested_beyond_any_recursion_are_removed(
    sandbox: ProcessSandbox, scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    player = scripted("""
        import os, tempfile
        os.chdir(tempfile.gettempdir())
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
        print("deep")
    """)
    run = sandbox.start(player, socket_directory=socket_directory, resources=Resources())
    assert wait_for_end(run) == Ending(0, False, "deep\n")
    assert not list((state_directory("processes")).glob("*"))


def test_a_memory_bomb_is_reported_as_one(
    sandbox: ProcessSandbox, scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    player = scripted("held = [bytearray(1 << 20) for _ in range(4096)]")
    run = sandbox.start(player, socket_directory=socket_directory, resources=Resources(memory_bytes=256 << 20))
    ending = wait_for_end(run)
    assert ending.out_of_memory
    assert ending.exit_code == 1


def test_what_a_player_uses_is_read_whatever_its_program_is_called(
    sandbox: ProcessSandbox,
    scripted: Scripted,
    socket_directory: Path,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    player = scripted("")
    assert player.directory is not None
    program = player.directory / "un-classifieuré"  # the kernel keeps 15 bytes of a name, here half of the last letter
    program.write_text("#!/bin/sh\necho started\nsleep 600\n")
    program.chmod(0o755)
    player = replace(player, command=(f"./{program.name}",))
    run, output = sandbox.start(player, socket_directory=socket_directory, resources=Resources()), list[bytes]()
    try:
        run.follow(output.append)
        wait_until(lambda: b"started" in b"".join(output))
        used, space = run.processor_use(), run.space_use()
    finally:
        run.end()
    assert used is not None
    assert space.processes is not None
    assert space.processes >= 2


def test_a_crash_gives_its_status(
    sandbox: ProcessSandbox, scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    player = scripted("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    ending = wait_for_end(sandbox.start(player, socket_directory=socket_directory, resources=Resources()))
    assert ending.exit_code == 128 + 11
    assert not ending.out_of_memory


def test_end_kills_all_and_is_safe_to_call_twice(
    scripted: Scripted,
    socket_directory: Path,
    tmp_path: Path,
    process_named: Callable[[int], HostProcess],
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    sandbox = ProcessSandbox(bubblewrapped=False)  # so that the numbers it prints are the host's
    told = tmp_path / "told"
    player = scripted(f"""
        import os, subprocess, time
        child = subprocess.Popen(["setsid", "sleep", "1000"])
        with open({str(told)!r} + ".part", "w") as file:
            print(os.getpid(), child.pid, file=file)
        os.rename({str(told)!r} + ".part", {str(told)!r})
        time.sleep(1000)
    """)
    run = sandbox.start(player, socket_directory=socket_directory, resources=Resources())
    wait_until(told.exists)
    processes = [process_named(int(number)) for number in told.read_text().split()]
    assert not run.ended()
    first = run.end()
    assert first == Ending(None, False, "")
    assert run.end() is first
    assert run.ended()
    wait_until(lambda: not any(process.alive() for process in processes))  # the kernel takes a moment to end them
    assert sandbox.sweep() == 0


def test_a_player_outlives_the_thread_that_started_it(
    sandbox: ProcessSandbox, scripted: Scripted, socket_directory: Path, wait_for_end: WaitForEnd
) -> None:
    player = scripted("import time; time.sleep(1); print('still here')")
    runs: list[PlayerRun] = []
    thread = threading.Thread(
        target=lambda: runs.append(
            sandbox.start(player, socket_directory=socket_directory, resources=Resources()),
        )
    )
    thread.start()
    thread.join()
    assert wait_for_end(runs[0]) == Ending(0, False, "still here\n")


def test_the_sdk_tree_holds_one_readable_package_and_its_digest_stays(tmp_path: Path) -> None:
    SDK.write(tmp_path / "sdk")
    files = [path for path in (tmp_path / "sdk").rglob("*") if path.is_file()]
    assert [path.name for path in (tmp_path / "sdk").iterdir()] == ["gauntlet"]
    assert {"__init__.py", "frames.py"} < {path.name for path in files}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o644}
    assert SDK.digest() == SDK.digest()


def test_its_output_can_be_followed_from_the_start(
    sandbox: ProcessSandbox,
    scripted: Scripted,
    socket_directory: Path,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    player = scripted("""
        import sys, time
        print("early", flush=True)
        time.sleep(0.3)
        print("late", file=sys.stderr, flush=True)
        time.sleep(60)
    """)
    seen = bytearray()
    run = sandbox.start(player, socket_directory=socket_directory, resources=Resources())

    run.follow(seen.extend)
    wait_until(lambda: seen == b"early\nlate\n")
    still_running = not run.ended()
    ending = run.end()

    assert still_running
    assert ending.log == "early\nlate\n"
