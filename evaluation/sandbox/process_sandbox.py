"""Sandbox that runs players as processes of this host, with the current interpreter: for trusted code.

With bubblewrap the player sees no network, no other process, and of the host's files only programs and libraries; it
can write only to a small private /tmp. Without bubblewrap it is a plain process with all rights of the user;
`limitations` says so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.domain.processor_use import ProcessorUse
from evaluation.sandbox import bubblewrap
from evaluation.sandbox.base import SOCKET_NAME, Ending, Folder, Guard, PlayerRun, Resources, Sandbox, SpaceUse
from evaluation.sandbox.directory_removal import remove_trees
from evaluation.sandbox.host_process import runner_label
from evaluation.sandbox.log_tail import LogTail
from evaluation.sandbox.memory_and_space_use import space_of_processes
from evaluation.sandbox.out_of_memory_cause import HostMemory
from evaluation.sandbox.page_cache_privacy import forget_names, level_page_cache
from evaluation.sandbox.player_environment import player_environment
from evaluation.sandbox.player_processor_time import processor_seconds
from evaluation.sandbox.player_root import mounts
from evaluation.sandbox.private_copies import sweep_copies
from evaluation.sandbox.process_guard_proof import examine_process
from evaluation.sandbox.process_register import MARK, RegisteredRun, sweep_register
from evaluation.sandbox.process_tree import children, deleted_bytes, process_tree
from evaluation.sandbox.processor_use import processor_use
from evaluation.sandbox.sdk_tree import SDK
from evaluation.sandbox.working_sandbox_proof import ControlProof

_PYTHON_NAMES = ("python", "python3")
_LAUNCHER = Path(__file__).with_name("launch.py")
_MEMORY_MESSAGES = ("MemoryError", "std::bad_alloc", "can't allocate memory", "Cannot allocate memory")
_PATIENCE = 5.0
_KILLED = 137  # 128 + SIGKILL
_REPORT_BYTES = 1 << 16
_QUOTED_CHARACTERS = 300
_CONTROL = ControlProof(modules=("gauntlet",))  # players here use the same SDK and numpy as the engine
_starters: dict[int, ThreadPoolExecutor] = {}
_starters_lock = threading.Lock()


class ProcessSandbox(Sandbox):
    """Starts players as processes of this user. Not for untrusted code."""

    name = "process"
    for_untrusted_code = False

    def __init__(self, *, bubblewrapped: bool | None = None, hidden: Iterable[Path] = ()) -> None:
        """Use bubblewrap if it works; `bubblewrapped` overrides this.

        In bubblewrap players do not see the paths in `hidden`, also inside visible directories such as /usr or that of
        the interpreter.
        """
        self.bubblewrapped = bubblewrap.bubblewrap_works() if bubblewrapped is None else bubblewrapped
        self._hidden = tuple(hidden)

    def start(
        self, program: Program, *, socket_directory: Path, resources: Resources, folders: Sequence[Folder] = ()
    ) -> ProcessRun:
        if program.directory is None:
            raise Fault(f"{program.name} was built as an image; the process sandbox runs directories")
        directory = next((folder.source for folder in folders if folder.working), program.directory)
        sdk = SDK.kept()
        mark = uuid.uuid4().hex
        scratch = Path(tempfile.mkdtemp(prefix="gauntlet-scratch-"))
        socket = bubblewrap.SOCKET_DIRECTORY if self.bubblewrapped else str(socket_directory)
        environment = {
            **player_environment(
                resources,
                socket=f"{socket}/{SOCKET_NAME}",
                home=bubblewrap.HOME if self.bubblewrapped else str(scratch),
            ),
            # scripts that call `python` get the engine's interpreter, as a command does
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTHONPATH": str(sdk),
            MARK: mark,
        }
        memory = HostMemory(resources.memory_bytes)
        report, status = os.pipe() if self.bubblewrapped else (None, None)
        command = list(program.command)
        if command[0] in _PYTHON_NAMES:
            command[0] = sys.executable
        if self.bubblewrapped:
            command = bubblewrap.wrapped(
                command,
                directory=directory,
                folders=folders,
                visible=[sdk, *program.readable],
                socket_directory=socket_directory,
                scratch_bytes=resources.scratch_bytes,
                hidden=self._hidden,
                devices=program.gpu and resources.gpu is not None,
                status=status,
            )
        limits = [str(os.getpid()), str(resources.memory_bytes), str(resources.scratch_bytes)]
        command = [sys.executable, "-I", "-S", str(_LAUNCHER), *limits, *command]
        try:
            process, output = _start(command, environment, directory, status)
        except BaseException:
            remove_trees([scratch])
            if report is not None:
                os.close(report)
            raise
        finally:
            if status is not None:
                os.close(status)
        log = LogTail(output, resources.log_bytes)
        return ProcessRun(process, log, mark, scratch, socket_directory, memory, report)

    def place(self, folder: Folder) -> str:
        return folder.place if self.bubblewrapped else str(folder.source)

    def prove(self, resources: Resources, *, gpu: bool = False, starts: int = 1) -> None:
        replace(_CONTROL, gpu=gpu).prove(self.start, resources, starts)

    def level_caches(self, program: Program) -> None:
        visible = [path for path in (program.directory, SDK.kept(), *program.readable) if path is not None]
        sources = [source for _, source in mounts(visible, self._hidden) if source is not None]
        level_page_cache(str(source) for source in sources if not source.is_relative_to("/sys"))
        forget_names()

    def sweep(self) -> int:
        return sweep_register() + sweep_copies()

    def self_test(self) -> list[Guard]:
        return examine_process(self, bubblewrapped=self.bubblewrapped)

    def limitations(self) -> str:
        """Return a text for the user that says what this sandbox does not protect against."""
        if self.bubblewrapped:
            return (
                "The process sandbox (with bubblewrap) is for code you trust. It does not stop: a fork bomb, which"
                " lasts until the match ends; use of all CPUs; several processes that each use the memory limit of one;"
                " reading the programs and libraries of this host; attacks on the kernel."
            )
        return (
            "The process sandbox (without bubblewrap) is for code you trust. It stops only a single process that"
            " uses too much memory, files that grow too large, and endless output. A player can read and write all of"
            " your files, use the network, and see other processes. Install bubblewrap for more protection."
        )


class ProcessRun(PlayerRun):
    """One started process, its children, and the directories made for them."""

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
        """Register the run; `report` is the descriptor of bubblewrap's status, closed at the end, None without it."""
        self._process = process
        self._log = log
        self._scratch = scratch
        self._memory = memory
        self._report = report
        self._ending: Ending | None = None
        self._entry = RegisteredRun(mark, runner_label(), str(scratch), str(socket_directory))
        try:
            self._entry.write()
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """The process number of its first process on the host."""
        return self._process.pid

    def ended(self) -> bool:
        return self._process.poll() is not None

    def processor_use(self) -> ProcessorUse | None:
        computed = processor_seconds(self._process.pid)
        return None if computed is None else processor_use(computed, process_tree(self._process.pid))

    def space_use(self) -> SpaceUse:
        return space_of_processes(process_tree(self._process.pid), private=bubblewrap.HOME if self._report else None)

    def deleted_bytes(self, device: int) -> int:
        return deleted_bytes(process_tree(self._process.pid), device)

    def follow(self, on_output: Callable[[bytes], None]) -> None:
        self._log.follow(on_output)

    def end(self) -> Ending:
        if self._ending is None:
            exit_code = self._process.poll()
            self._kill()
            log = self._log.text(patience=_PATIENCE)
            remove_trees([self._scratch])
            self._entry.remove()
            # the convention of shells and bubblewrap: 128 + signal
            status = 128 - exit_code if exit_code is not None and exit_code < 0 else exit_code
            out_of_memory = bool(status) and any(message in log for message in _MEMORY_MESSAGES)
            host_failure, shortage = "", self._memory.shortage() if status == _KILLED else ""
            confirmed = self._start_reported()
            if self._report is not None and not confirmed and not log.startswith(bubblewrap.NO_SUCH_COMMAND):
                host_failure = f"bubblewrap ended before the player started (exit status {status}): {_last_line(log)}"
            self._ending = Ending(status, out_of_memory, log, host_failure, shortage, confirmed or not status)
        return self._ending

    def _start_reported(self) -> bool:
        """Return True if bubblewrap reported that it started the player. Its processes are gone."""
        if self._report is None:
            return False
        with os.fdopen(self._report, "rb", buffering=0) as file:
            os.set_blocking(self._report, False)
            return bubblewrap.command_started(file.read(_REPORT_BYTES) or b"")

    def _kill(self) -> None:
        # children first: in bubblewrap this is the first process of the namespace, and all others end with it
        found = children(self._process.pid)
        for child in found:
            _kill_quietly(child)
        if self._report is not None and found:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may still report whether the player started
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
    """Start `command` in a new session, with the descriptor `keep`. Return it and the reading end of its output."""

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
            raise Fault(f"cannot start {command[0]}: {failure}") from failure
        finally:
            os.close(writing)
        return process, reading

    future = _starter().submit(start)
    try:
        return future.result()
    except BaseException:  # Ctrl-C during the start
        future.add_done_callback(_abandon)
        raise


def _abandon(future: Future[tuple[subprocess.Popen[bytes], int]]) -> None:
    if future.exception() is None:
        process, reading = future.result()
        os.close(reading)
        process.kill()
        process.wait()


def _starter() -> ThreadPoolExecutor:
    """Return the thread that starts all players of this process.

    A player ends with the thread that started it (PR_SET_PDEATHSIG, prctl(2)), so that thread must not end early.
    """
    with _starters_lock:
        if os.getpid() not in _starters:
            _starters[os.getpid()] = ThreadPoolExecutor(max_workers=1, thread_name_prefix="player starter")
        return _starters[os.getpid()]


def _kill_quietly(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
