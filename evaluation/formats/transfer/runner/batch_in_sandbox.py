"""Run of a submission on one batch: directories in, directories out, a time limit, no connection."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.builder.allowed_submission_files import IGNORED_NAMES
from evaluation.domain.errors import Fault, StoppedError
from evaluation.domain.players import Program
from evaluation.formats.transfer.results import BatchReason, BatchRun
from evaluation.formats.transfer.runner.container_owned_files import make_readable
from evaluation.formats.transfer.runner.disk_use import DiskAllowance, allowance_beyond
from evaluation.formats.transfer.runner.run_directories import workspace
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.legacy.player_modules import START_2017
from evaluation.sandbox.base import Ending, Folder, PlayerRun, Resources, Sandbox
from evaluation.sandbox.host_fault_check import require_working_host
from evaluation.sandbox.peak_use import MostUsed

CODE, INPUT_IMAGES, OUTPUT_IMAGES, OUTPUT_DATA = "/code", "/input_images", "/output_images", "/output_data"
"""Where submissions of 2017 see their files."""

RESULT_FILE = "result.csv"

_MODULES = "/legacy_modules"
"""Where submissions of 2017 see the modules that give current packages their names of 2017."""

_POLL_SECONDS = 0.02
_MEASURE_SECONDS = 0.5
_LOOK_SECONDS = 0.1
_FILE_TIME = 1_500_000_000
FREE_FILES = 1000
"""How many files a submission may write beyond its copied code and one for each image."""


@dataclass
class RunUse:
    """What was seen of runs so far. Files and bytes are those that a run left on the disk; None: too many."""

    most: MostUsed = field(default_factory=MostUsed)
    files: int | None = None
    bytes: int | None = None
    result_bytes: int | None = None
    """The size of a defence's result file."""


@dataclass(frozen=True, eq=False)
class RunEnvironment:
    """Where and how submissions run: a sandbox, its limits, a clock factor, and a flag that stops every run."""

    sandbox: Sandbox
    resources: Resources
    calibration: float
    stop: threading.Event
    used: RunUse | None = None
    """What collects how much of their limits the runs use."""


@dataclass(frozen=True)
class Finished:
    """A finished run, and the end of its output."""

    run: BatchRun
    log: str


@contextmanager
def run_batch(
    stage: RunEnvironment,
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
    with workspace(stage.sandbox) as (code, inputs, written, socket_directory):
        _copy_code(player.source, code, player.entry_point)
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
        yield written, _run(stage, program, socket_directory, folders, len(files), seconds)


def _run(
    stage: RunEnvironment,
    program: Program,
    socket_directory: Path,
    folders: Sequence[Folder],
    images: int,
    seconds: float,
) -> Finished:
    """Run `program` until it ends or reaches a limit."""
    writable = [folder.source for folder in folders if folder.writable]
    allowance = allowance_beyond(writable, files=images + FREE_FILES, size=stage.resources.scratch_bytes)
    run = stage.sandbox.start(program, socket_directory=socket_directory, resources=stage.resources, folders=folders)
    began = time.monotonic()  # what the host needs for a start is not the submission's time
    try:
        cut, shortage = _wait(run, began + seconds * stage.calibration, allowance, stage)
        elapsed = time.monotonic() - began
    finally:
        ending = run.end()
        readable = program.image is None or make_readable(stage.sandbox, writable, socket_directory)
    # 1. what it wrote: directories that it alone could read have their size now
    if cut is BatchReason.TOO_MUCH_OUTPUT or allowance.exceeded(ended=readable):
        cut = BatchReason.TOO_MUCH_OUTPUT
    elif not readable:
        raise Fault(f"the files of {program.name} could not be made readable: this host is too slow")
    # 2. a full disk, which others may have filled
    elif shortage:
        raise Fault(f"the disk of this host was full while it ran {program.name}: {shortage}")
    if stage.used is not None and (left := allowance.left()):
        stage.used.files = images + FREE_FILES - left[0]
        stage.used.bytes = stage.resources.scratch_bytes - left[1]
    reason, detail = _reason(cut, ending)
    # 3. whether this host may be the cause
    if reason in (BatchReason.CRASHED, BatchReason.OUT_OF_MEMORY):
        require_working_host(stage.sandbox, program, stage.resources, ending)
    return Finished(BatchRun(elapsed / stage.calibration, reason, detail), ending.log)


def _wait(
    run: PlayerRun, deadline: float, allowance: DiskAllowance, stage: RunEnvironment
) -> tuple[BatchReason | None, str]:
    """Wait until the run ends, reaches a limit, or the disk is full. Return the limit, and what the disk lacks then."""
    measured = looked = time.monotonic()
    while not run.ended():
        now = time.monotonic()
        if stage.stop.is_set():
            raise StoppedError
        if stage.used is not None and now - looked >= _LOOK_SECONDS:
            stage.used.most.look(run)
            looked = now
        if now >= deadline:
            return BatchReason.TOO_SLOW, allowance.shortage()
        if now - measured >= _MEASURE_SECONDS:
            shortage = allowance.shortage()
            # deleted files are looked for only now: a program can make that slow
            deleted = run.deleted_bytes(allowance.device()) if shortage else 0
            if allowance.exceeded(ended=False, deleted=deleted):
                return BatchReason.TOO_MUCH_OUTPUT, shortage
            if shortage:
                return None, shortage
            measured = now
        time.sleep(_POLL_SECONDS)
    return None, allowance.shortage()


def _reason(cut: BatchReason | None, ending: Ending) -> tuple[BatchReason | None, str]:
    if cut is not None:
        return cut, ""
    if ending.out_of_memory:
        return BatchReason.OUT_OF_MEMORY, ""
    if ending.exit_code is None:
        raise Fault(f"the sandbox lost a run: {ending.host_failure or 'it ended without an exit status'}")
    return (BatchReason.CRASHED, f"exit status {ending.exit_code}") if ending.exit_code else (None, "")


def _copy_code(source: Path, code: Path, entry_point: str) -> None:
    shutil.copytree(source, code, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*IGNORED_NAMES))
    for path in (code, *code.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            # the checkouts of a site are its user's alone, and a container runs as another one
            path.chmod(mode | (0o777 if mode & stat.S_IXUSR else 0o666))
    (code / entry_point).chmod(0o777)  # git and archives lose this bit


def _write_files(files: Mapping[str, bytes], inputs: Path) -> None:
    """Write `files` in the order of their names, as of one time: nothing else may tell the order of the samples."""
    for name, content in sorted(files.items()):
        path = inputs / name
        path.write_bytes(content)
        path.chmod(0o644)  # whatever the umask: a container runs as another user
        os.utime(path, (_FILE_TIME, _FILE_TIME))
