"""Players as processes of this host, with the current interpreter: for trusted code on a laptop.

With bubblewrap the player sees no network, no other process, of the host's files programs and libraries alone, and no
file it could write except in a small /tmp of its own. Without bubblewrap it is a plain process that can do whatever the
user can; `what_it_does_not_stop` says so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from evaluation.domain.errors import Fault
from evaluation.domain.players import Player
from evaluation.sandbox import bubblewrap
from evaluation.sandbox.base import SOCKET_NAME, Ending, Guard, Resources, Run, Sandbox
from evaluation.sandbox.control_proof import ControlProof
from evaluation.sandbox.host_memory import HostMemory
from evaluation.sandbox.host_process import HostProcess
from evaluation.sandbox.log_tail import LogTail
from evaluation.sandbox.player_environment import player_environment
from evaluation.sandbox.process_guards import examine_process
from evaluation.sandbox.process_register import MARK, Entry, sweep_register
from evaluation.sandbox.sdk_tree import sdk_digest, write_sdk_tree
from evaluation.sandbox.state_directory import state_directory

_PYTHON_NAMES = ("python", "python3")
_LAUNCHER = Path(__file__).with_name("launch.py")
_MEMORY_COMPLAINTS = ("MemoryError", "std::bad_alloc", "can't allocate memory", "Cannot allocate memory")
_PATIENCE = 5.0
_KILLED = 137  # 128 + SIGKILL
_REPORT_BYTES = 1 << 16
_QUOTED_CHARACTERS = 300
_CONTROL = ControlProof(modules=("gauntlet",))  # with numpy: players here share both with us
_starters: dict[int, ThreadPoolExecutor] = {}
_starters_lock = threading.Lock()


class ProcessSandbox(Sandbox):
    """Starts players as processes of this user. Not for untrusted code."""

    name: ClassVar[str] = "process"
    for_untrusted_code: ClassVar[bool] = False

    def __init__(self, *, bubblewrapped: bool | None = None, hidden: Iterable[Path] = ()) -> None:
        """Use bubblewrap where it works; True or False decides it by hand.

        What is `hidden` no player sees in bubblewrap, also where it lies in a directory that players share, such as
        /usr or that of the interpreter.
        """
        self.bubblewrapped = bubblewrap.bubblewrap_works() if bubblewrapped is None else bubblewrapped
        self._hidden = tuple(hidden)

    def start(self, player: Player, *, socket_directory: Path, resources: Resources) -> ProcessRun:
        if player.directory is None:
            raise Fault(f"{player.name} was built as an image; the process sandbox runs directories")
        sdk = _sdk_tree()
        mark = uuid.uuid4().hex
        scratch = Path(tempfile.mkdtemp(prefix="gauntlet-scratch-"))
        socket = bubblewrap.SOCKET_DIRECTORY if self.bubblewrapped else str(socket_directory)
        environment = {
            **player_environment(
                resources,
                socket=f"{socket}/{SOCKET_NAME}",
                home=bubblewrap.HOME if self.bubblewrapped else str(scratch),
            ),
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(sdk),
            MARK: mark,
        }
        memory = HostMemory(resources.memory_bytes)
        report, status = os.pipe() if self.bubblewrapped else (None, None)
        command = list(player.command)
        if command[0] in _PYTHON_NAMES:
            command[0] = sys.executable
        if self.bubblewrapped:
            command = bubblewrap.wrapped(
                command,
                directory=player.directory,
                visible=[sdk],
                socket_directory=socket_directory,
                scratch_bytes=resources.scratch_bytes,
                hidden=self._hidden,
                devices=player.gpu and resources.gpu is not None,
                status=status,
            )
        limits = [str(os.getpid()), str(resources.memory_bytes), str(resources.scratch_bytes)]
        command = [sys.executable, "-I", "-S", str(_LAUNCHER), *limits, *command]
        try:
            process, output = _start(command, environment, player.directory, status)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            if report is not None:
                os.close(report)
            raise
        finally:
            if status is not None:
                os.close(status)
        log = LogTail(output, resources.log_bytes)
        return ProcessRun(process, log, mark, scratch, socket_directory, memory, report)

    def prove(self, resources: Resources, *, gpu: bool = False, starts: int = 1) -> None:
        replace(_CONTROL, gpu=gpu).prove(self.start, resources, starts)

    def sweep(self) -> int:
        return sweep_register()

    def self_test(self) -> list[Guard]:
        return examine_process(self, bubblewrapped=self.bubblewrapped)

    def what_it_does_not_stop(self) -> str:
        """What this sandbox does not protect against, in words for whoever starts it."""
        if self.bubblewrapped:
            return (
                "The process sandbox (with bubblewrap) is for code you trust. It does not stop: a fork bomb, which"
                " lasts until the match ends; use of all CPUs; several processes that each take the memory of one;"
                " reading the programs and libraries of this host; attacks on the kernel."
            )
        return (
            "The process sandbox (without bubblewrap) is for code you trust. It does not stop anything but a single"
            " process that takes too much memory, files that grow too large, and endless output. A player can read"
            " and write all that you can, use the network, and see other processes. Install bubblewrap for more."
        )


class ProcessRun(Run):
    """One started process, its children, and what was made for them."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        log: LogTail,
        mark: str,
        scratch: Path,
        socket_directory: Path,
        memory: HostMemory,
        report: int | None,
    ) -> None:
        """`report`: where bubblewrap reports, a descriptor that is closed at the end; None where it does not wrap."""
        self._process = process
        self._log = log
        self._scratch = scratch
        self._memory = memory
        self._report = report
        self._ending: Ending | None = None
        runner = HostProcess.current()
        self._entry = Entry(
            mark=mark,
            runner_pid=runner.pid,
            runner_started=runner.started,
            pid=process.pid,
            started=0,
            scratch=str(scratch),
            socket_directory=str(socket_directory),
        )
        try:
            self._entry.write()
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """The number of its first process, as the host sees it."""
        return self._process.pid

    def ended(self) -> bool:
        return self._process.poll() is not None

    def follow(self, on_output: Callable[[bytes], None]) -> None:
        self._log.follow(on_output)

    def end(self) -> Ending:
        if self._ending is None:
            exit_code = self._process.poll()
            self._kill()
            log = self._log.text(patience=_PATIENCE)
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._entry.strike()
            # a shell's convention, and bubblewrap's: 128 + signal
            status = 128 - exit_code if exit_code is not None and exit_code < 0 else exit_code
            complained = any(complaint in log for complaint in _MEMORY_COMPLAINTS)
            trouble, starved = "", self._memory.trouble() if status == _KILLED else ""
            certain = self._begun()
            if self._report is not None and not certain and not log.startswith(bubblewrap.NO_SUCH_COMMAND):
                trouble = f"bubblewrap ended before the player began (exit status {status}): {_last_line(log)}"
            self._ending = Ending(status, bool(status) and complained, log, trouble, starved, certain or not status)
        return self._ending

    def _begun(self) -> bool:
        """Whether bubblewrap reported that it began the player. Its processes are gone."""
        if self._report is None:
            return False
        with os.fdopen(self._report, "rb", buffering=0) as file:
            os.set_blocking(self._report, False)
            return bubblewrap.began(file.read(_REPORT_BYTES) or b"")

    def _kill(self) -> None:
        # children first: of a wrapped player this is the first process of its namespace, and with it go all others
        children = _children(self._process.pid)
        for child in children:
            _kill_quietly(child)
        if self._report is not None and children:
            with contextlib.suppress(subprocess.TimeoutExpired):  # what it reports now tells whether the player began
                self._process.wait(_PATIENCE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._entry.kill()


def _last_line(log: str) -> str:
    return log.strip().rpartition("\n")[2][-_QUOTED_CHARACTERS:]


def _start(
    command: list[str], environment: dict[str, str], directory: Path, keep: int | None
) -> tuple[subprocess.Popen[bytes], int]:
    """Start `command` in a session of its own, with the descriptor `keep`; it and the reading end of its output."""

    def start() -> tuple[subprocess.Popen[bytes], int]:
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
                pass_fds=() if keep is None else (keep,),
            )
        except BaseException as failure:
            os.close(reading)
            raise Fault(f"{command[0]} could not be started: {failure}") from failure
        finally:
            os.close(writing)
        return process, reading

    future = _starter().submit(start)
    try:
        return future.result()
    except BaseException:  # Ctrl-C while it was being started
        future.add_done_callback(_abandon)
        raise


def _abandon(future: Future[tuple[subprocess.Popen[bytes], int]]) -> None:
    if future.exception() is None:
        process, reading = future.result()
        os.close(reading)
        process.kill()
        process.wait()


def _starter() -> ThreadPoolExecutor:
    """The thread that starts all players of this process.

    "Die with your parent" means the parent's thread (prctl(2)): a player started by a thread that ends would die early.
    """
    with _starters_lock:
        if os.getpid() not in _starters:
            _starters[os.getpid()] = ThreadPoolExecutor(max_workers=1, thread_name_prefix="player starter")
        return _starters[os.getpid()]


def _sdk_tree() -> Path:
    """A directory that holds the SDK of this version; made once."""
    directory = state_directory("sdk") / sdk_digest()[:16]
    if not directory.exists():
        fresh = Path(tempfile.mkdtemp(dir=directory.parent))
        write_sdk_tree(fresh)
        try:
            fresh.rename(directory)
        except OSError:  # another process was first
            shutil.rmtree(fresh)
    return directory


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # no such process, or no /proc
        return []


def _kill_quietly(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
