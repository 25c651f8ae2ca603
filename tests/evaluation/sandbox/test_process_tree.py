"""Processes of a player, and the deleted files that they hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.sandbox.base import Folder, Resources
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_tree import deleted_bytes, process_tree

MIB = 1 << 20
HOLDING = f"""
import mmap, os, sys, time
os.chdir(sys.argv[1])

def deleted(name):
    file = open(name, "w+b")
    file.write(bytes({MIB}))
    file.flush()
    os.unlink(name)
    return file

held = deleted("held")
file = deleted("mapped")
mapped = mmap.mmap(file.fileno(), {MIB})
file.close()
os.closerange(held.fileno() + 1, 20)  # also the descriptor of `mmap`: only the mapping holds the file now
open("kept", "wb").write(bytes({MIB}))
if os.fork() == 0:
    only_of_the_child = deleted("child")
os.write(1, b"ready\\n")
time.sleep(60)
"""


def test_deleted_files_that_two_processes_hold_count_once(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        tree = process_tree(process.pid)
        # what both hold counts once; the file that has a name is measured in its directory
        seen = deleted_bytes(tree, device), deleted_bytes(tree, device + 1)
        for pid in tree:
            os.kill(pid, signal.SIGKILL)
    assert lines == ["ready\n"] * 2
    assert len(tree) == 2
    assert seen == (3 * MIB, 0)
    assert process_tree(process.pid) == {process.pid}


@pytest.mark.docker
@pytest.mark.parametrize("user", [0, 1000], ids=["root", "another user"])
def test_deleted_files_of_a_container_are_seen(
    user: int,
    socket_directory: Path,
    wait_until: Callable[[Callable[[], bool]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker who is not root may not look into processes of the container's user itself."""
    sandbox = DockerSandbox()
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with tempfile.TemporaryDirectory() as directory:
        written = Path(directory)
        written.chmod(0o777)
        player = QueryPlayer(
            "holding", ("python3", "-c", HOLDING, "/output"), "digest", image=sandbox.base_image, track=TrackName.MODEL
        )
        run = sandbox.start(
            player,
            socket_directory=socket_directory,
            resources=Resources(memory_bytes=512 * MIB),
            folders=[Folder(written, "/output", writable=True)],
        )
        try:
            wait_until(lambda: run.deleted_bytes(written.stat().st_dev) == 3 * MIB)
        finally:
            run.end()
        assert run.deleted_bytes(written.stat().st_dev) == 0
