"""Files of a container that could not be made readable in time: whose fault that is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.players import Program
from evaluation.formats.transfer.results import BatchReason, BatchRun
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.runner import batch_in_sandbox as module
from evaluation.formats.transfer.runner.batch_in_sandbox import OUTPUT_IMAGES, RunEnvironment, run_batch
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.base import Ending, Folder, PlayerRun, Resources, Sandbox


@pytest.fixture(autouse=True)
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "make_readable", lambda *given: False)


def played(files: int, repository: Path) -> BatchRun:
    """Return how a container ends that leaves so many files."""

    def start(program: Program, *, folders: Sequence[Folder], **given: object) -> PlayerRun:
        output = next(folder.source for folder in folders if folder.place == OUTPUT_IMAGES)
        for number in range(files):
            (output / str(number)).touch()
        run = Mock(PlayerRun)
        run.ended.return_value = True
        run.end.return_value = Ending(0, False, "")
        return run

    (repository / "run.sh").touch()
    sandbox = Mock(Sandbox, base_image=None)
    sandbox.place.side_effect = lambda folder: folder.place
    sandbox.start.side_effect = start
    player = TransferPlayer("owls", TransferTrack.ATTACK, "run.sh", "any", repository, image="any")
    stage = RunEnvironment(sandbox, Resources(scratch_bytes=1 << 20), 1.0, threading.Event())
    with run_batch(stage, player, {}, lambda place: (place,), output=OUTPUT_IMAGES, seconds=9.0) as (_, finished):
        return finished.run


def test_with_too_many_files_it_is_that_of_the_submission(tmp_path: Path) -> None:
    assert played(1001, tmp_path).reason is BatchReason.TOO_MUCH_OUTPUT


def test_within_the_limit_it_is_that_of_the_host(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="the files of owls could not be made readable: this host is too slow"):
        played(1000, tmp_path)
