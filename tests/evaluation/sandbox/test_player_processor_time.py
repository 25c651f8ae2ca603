"""Processor time of a player: with its helpers, also ended ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.sandbox import player_processor_time
from evaluation.sandbox.base import Resources
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.player_processor_time import control_group_file, control_group_seconds, processor_seconds

WORK = "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass\n"
HELPERS = f"""
import os, sys, threading
{WORK}
for _ in range(2):
    child = os.fork()
    if child == 0:
        exec({WORK!r})
        os._exit(0)
    os.waitpid(child, 0)
running = os.fork()
if running == 0:
    exec({WORK!r})
print("done", flush=True)
sys.stdin.read()
"""


def test_the_time_of_ended_helpers_counts() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HELPERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()] == ["done\n"] * 2
    seconds = processor_seconds(process.pid)
    process.communicate()
    assert seconds is not None
    assert seconds >= 0.38  # four times 0.1, in hundredths


def test_a_process_that_is_gone_has_none() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert processor_seconds(process.pid) is None
    assert control_group_file(process.pid, "container") is None


def test_a_kernel_that_lists_no_children_cannot_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "thread-self").mkdir()
    monkeypatch.setattr(player_processor_time, "_PROC", tmp_path)
    assert processor_seconds(os.getpid()) is None


@pytest.mark.parametrize(
    ("line", "place", "content"),
    [
        ("4:cpu,cpuacct:/docker/abc", "cpu,cpuacct/docker/abc/cpuacct.usage", "1500000000\n"),
        (
            "0::/system.slice/docker-abc.scope",
            "system.slice/docker-abc.scope/cpu.stat",
            "nr_periods 3\nusage_usec 1500000\n",
        ),
    ],
)
def test_both_versions_of_control_groups_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, place: str, content: str
) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text(content)
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(f"9:pids:/docker/abc\n{line}\n")
    monkeypatch.setattr(player_processor_time, "_GROUPS", tmp_path)
    monkeypatch.setattr(player_processor_time, "_PROC", tmp_path)
    assert control_group_file(7, "abc") == file
    assert control_group_file(7, "another") is None
    assert control_group_seconds(file) == 1.5


@pytest.mark.docker
def test_a_container_is_read_with_all_its_processes(
    socket_directory: Path, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    sandbox = DockerSandbox()
    command = ("python3", "-c", HELPERS.replace("sys.stdin.read()", "import time; time.sleep(60)"))
    player = QueryPlayer("computing", command, "digest", image=sandbox.base_image, track=TrackName.MODEL)
    run = sandbox.start(player, socket_directory=socket_directory, resources=Resources(memory_bytes=512 << 20))
    try:
        wait_until(lambda: (use := run.processor_use()) is not None and use.computed >= 0.4)
        use = run.processor_use()
        assert use is not None
        assert len(use.threads) >= 2  # the command and the helper that was not waited for; the engine's init, too
    finally:
        run.end()
    assert run.processor_use() is None
