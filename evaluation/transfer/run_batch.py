"""Run of a submission on one batch: directories in, directories out, a time limit, no connection."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.builder.source_tree import IGNORED_NAMES
from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.domain.transfer_results import BatchReason, BatchRun
from evaluation.legacy.player_modules import START_2017
from evaluation.sandbox.base import Ending, Folder, Resources, Run, Sandbox
from evaluation.sandbox.host_evidence import require_working_host
from evaluation.transfer.player import TransferPlayer
from evaluation.transfer.workspace import workspace

CODE, INPUT_IMAGES, OUTPUT_IMAGES, OUTPUT_DATA = "/code", "/input_images", "/output_images", "/output_data"
"""Where submissions of 2017 see their files."""

RESULT_FILE = "result.csv"

_MODULES = "/legacy_modules"
"""Where submissions of 2017 see the modules that give current packages their names of 2017."""

_POLL_SECONDS = 0.02
_CLEANING_SECONDS = 60.0
_BLOCK = 512  # bytes, the unit of st_blocks on every system
_MEASURE_SECONDS = 0.5
_FREE_FILES = 1000
"""How many files a submission may write beyond its copied code and one for each image."""


class StoppedError(Exception):
    """The run was stopped because the whole match is."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Where and how submissions run: a sandbox, its limits, a clock factor, and a flag that stops every run."""

    sandbox: Sandbox
    resources: Resources
    calibration: float
    stop: threading.Event


@dataclass(frozen=True)
class Finished:
    """A finished run, and the end of its output."""

    run: BatchRun
    log: str


@contextmanager
def run_batch(
    stage: Stage,
    player: TransferPlayer,
    files: Mapping[str, bytes],
    arguments: Callable[[str], Sequence[str]],
    *,
    output: str,
    seconds: float,
) -> Iterator[tuple[Path, Finished]]:
    """Run `player` on the input `files`; yield the directory with what it wrote at `output`, and how it ended.

    The directory lives until the block ends. `arguments` follow the input directory on the command line; they are made
    of the path of the output directory. A failure of the host raises `Fault`, and a stopped match `StoppedError`.
    """
    with workspace() as (code, inputs, written, socket_directory):
        _copy_code(player.source, code)
        _write_files(files, inputs)
        folders = [
            Folder(code, CODE, writable=True, working=True),
            Folder(inputs, INPUT_IMAGES),
            Folder(written, output, writable=True),
        ]
        place = stage.sandbox.place
        command = (f"./{player.entry_point}", place(folders[1]), *arguments(place(folders[2])))
        if player.legacy:
            folders.append(Folder(player.legacy.modules, _MODULES))
            command = (player.legacy.python, f"{place(folders[-1])}/{START_2017}", *command)
        program = Program(
            name=player.name,
            command=command,
            digest=player.digest,
            directory=None if player.image else code,
            image=player.image,
            gpu=player.gpu,
            readable=player.legacy.readable if player.legacy else (),
        )
        try:
            yield written, _run(stage, program, socket_directory, folders, len(files), seconds)
        finally:
            _own(stage, program, socket_directory, folders)


def _run(
    stage: Stage, program: Program, socket_directory: Path, folders: Sequence[Folder], images: int, seconds: float
) -> Finished:
    """Run `program` until it ends or reaches a limit."""
    writable = [folder.source for folder in folders if folder.writable]
    files, size = _measure(writable)
    allowance = _Allowance(tuple(writable), files + images + _FREE_FILES, size + stage.resources.scratch_bytes)
    run = stage.sandbox.start(program, socket_directory=socket_directory, resources=stage.resources, folders=folders)
    began = time.monotonic()  # what the host needs for a start is not the submission's time
    try:
        cut = _wait(run, began + seconds * stage.calibration, allowance, stage.stop)
        elapsed = time.monotonic() - began
    finally:
        ending = run.end()
    reason, detail = _reason(cut, ending)
    if reason in (BatchReason.CRASHED, BatchReason.OUT_OF_MEMORY):
        require_working_host(stage.sandbox, program, stage.resources, ending)
    return Finished(BatchRun(elapsed / stage.calibration, reason, detail), ending.log)


def _own(stage: Stage, program: Program, socket_directory: Path, folders: Sequence[Folder]) -> None:
    """Make what the user of a container wrote removable, which only that user may unless this one is root."""
    if program.image is None or os.geteuid() == 0:
        return
    places = [stage.sandbox.place(folder) for folder in folders if folder.writable]
    cleaner = replace(program, command=("chmod", "-R", "a+rwX", *places), gpu=False)
    run = stage.sandbox.start(cleaner, socket_directory=socket_directory, resources=stage.resources, folders=folders)
    deadline = time.monotonic() + _CLEANING_SECONDS
    while not run.ended() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    run.end()


def _wait(run: Run, deadline: float, allowance: _Allowance, stop: threading.Event) -> BatchReason | None:
    """Wait until the run ends. Return the limit that it reached, if it reached one."""
    measured = time.monotonic()
    while not run.ended():
        now = time.monotonic()
        if stop.is_set():
            raise StoppedError
        if now >= deadline:
            return BatchReason.TOO_SLOW
        if now - measured >= _MEASURE_SECONDS:
            if allowance.exceeded():
                return BatchReason.TOO_MUCH_OUTPUT
            measured = now
        time.sleep(_POLL_SECONDS)
    return BatchReason.TOO_MUCH_OUTPUT if allowance.exceeded() else None


def _reason(cut: BatchReason | None, ending: Ending) -> tuple[BatchReason | None, str]:
    if cut is not None:
        return cut, ""
    if ending.out_of_memory:
        return BatchReason.OUT_OF_MEMORY, ""
    if ending.exit_code is None:
        raise Fault(f"the sandbox lost a run: {ending.host_failure or 'it ended without an exit status'}")
    return (BatchReason.CRASHED, f"exit status {ending.exit_code}") if ending.exit_code else (None, "")


@dataclass(frozen=True)
class _Allowance:
    """The most files and bytes below the writable directories, whose file system has no limit of its own."""

    directories: tuple[Path, ...]
    files: int
    bytes: int

    def exceeded(self) -> bool:
        files, size = _measure(self.directories, most=self.files)
        return files > self.files or size > self.bytes


def _measure(directories: Sequence[Path], most: int | None = None) -> tuple[int, int]:
    """Return the number of files and directories below `directories`, and their bytes; stop after `most` files."""
    count, size = 0, 0
    waiting = list(directories)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    count, size = count + 1, size + found.st_blocks * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    if most is not None and count > most:
                        return count, size
        except OSError:  # removed meanwhile, or made unreadable: then its owner cannot be scored for it either
            continue
    return count, size


def _copy_code(source: Path, code: Path) -> None:
    shutil.copytree(source, code, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*IGNORED_NAMES))
    for path in (code, *code.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o777 if path.is_dir() else 0o666))


def _write_files(files: Mapping[str, bytes], inputs: Path) -> None:
    for name, content in files.items():
        path = inputs / name
        path.write_bytes(content)
        path.chmod(0o644)  # whatever the umask: a container runs as another user
