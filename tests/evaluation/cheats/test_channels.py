"""Channels between instances of one model: open where they could be used, closed where its audit runs."""

from __future__ import annotations

import json
import os
import queue
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evaluation.builder.choose_builder import choose_builder
from evaluation.datasets.load import load_dataset
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.kept_frames import KeptFrames
from evaluation.formats.query.referee.fresh_model_audit import ask_fresh_model
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import AuditReport, sum_reports
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_after_match import audit_model
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox import process_sandbox
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.bubblewrap import bubblewrap_works
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.page_cache_privacy import level_page_cache
from evaluation.sandbox.process_sandbox import ProcessSandbox
from tests.evaluation.cheats.notes import KERNEL_OBJECTS, LOCKS, PAGE_CACHE, in_turn

REPOSITORIES = Path(__file__).resolve().parents[2] / "repos"
RULES = QueryRules(
    classes=10, query_budget=60, setup_seconds=60.0, model_seconds_per_image=2.0, attack_seconds_per_sample=120.0
)
"""With time to leave and read notes on a busy host, too: a model that is too slow is caught by another rule."""

RESOURCES = Resources(memory_bytes=512 << 20, processes=64, scratch_bytes=32 << 20, log_bytes=64 << 10)

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(params=["process", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow(30)])])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "docker":
        return DockerSandbox()
    if not bubblewrap_works():
        pytest.fail("bubblewrap does not work on this host")
    return ProcessSandbox()


class Match60:
    """A played match of one model, and the audits of its kept frames."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self.sandbox = sandbox
        builder = choose_builder(sandbox.name)
        self.model: QueryPlayer = builder.build(REPOSITORIES / name, on_log=lambda line: None)
        self._attack = builder.build(REPOSITORIES / "players" / "honest-attack", on_log=lambda line: None)
        self.kept: list[KeptFrames] = []

    @contextmanager
    def played(self) -> Iterator[None]:
        """Play, and keep the instance that played alive inside the block."""
        match = self._play()
        try:
            assert self.kept, match.failures
            yield
        finally:
            match.close()

    def _play(self) -> RefereedMatch:
        match = RefereedMatch(
            rules=RULES,
            track=TrackName.UNTARGETED,
            model=SandboxedPlayer(self.sandbox, self.model, RESOURCES),
            attack=SandboxedPlayer(self.sandbox, self._attack, RESOURCES),
            seed=8,
        )
        samples = list(load_dataset("digits").samples("dev")[1:4])
        self.kept = [piece.kept for piece in match.play(samples) if piece.kept]
        return match

    def audit(self, *, level_caches: bool) -> AuditReport:
        """The audit as it is: alone, on a copy of the files."""
        return sum_reports(
            audit_model(
                model=self.model,
                track=TrackName.UNTARGETED,
                rules=RULES,
                kept=self.kept,
                sandbox=self.sandbox,
                seed=1,
                resources=RESOURCES,
                level_caches=level_caches,
                wait=False,
            )
        )

    def audit_beside(self) -> AuditReport:
        """An audit beside the instance that played, on the same files."""
        beside = SandboxedPlayer(self.sandbox, self.model, RESOURCES)
        return sum_reports(ask_fresh_model(beside, track=TrackName.UNTARGETED, rules=RULES, kept=self.kept, seed=1))


def test_notes_in_locks_end_with_the_instance_that_played(sandbox: Sandbox) -> None:
    with in_turn(LOCKS):
        match = Match60(sandbox, "cheats/model-passes-notes-by-locks")
        with match.played():
            beside = match.audit_beside()
        if isinstance(sandbox, ProcessSandbox):  # containers see files of their own here
            assert beside.fresh_changed == 0
        assert match.audit(level_caches=False).stateful


@pytest.mark.slow(15)
def test_notes_in_the_page_cache_outlive_the_instance_but_not_the_levelling(sandbox: Sandbox) -> None:
    with in_turn(PAGE_CACHE):
        match = Match60(sandbox, "cheats/model-passes-notes-by-page-cache")
        # an earlier test left notes, which the clock reads with errors: wrong labels
        if isinstance(sandbox, ProcessSandbox):
            level_page_cache([sys.prefix])
        else:
            sandbox.level_caches(match.model)

        def reads_the_notes() -> bool:
            with match.played():
                pass
            return not match.audit(level_caches=False).stateful

        with match.played():
            pass
        if isinstance(sandbox, ProcessSandbox):  # in a container only the clock can read them, with errors
            # another test may drop the pages of the host's files meanwhile
            assert any(reads_the_notes() for _ in range(3))
        assert match.audit(level_caches=True).stateful


class Notes:
    """Programs that leave a number in every object of the kernel, and look for it."""

    def __init__(self, start: Callable[..., AbstractContextManager[dict[str, Any]]]) -> None:
        self._start = start
        self.number = 1 + secrets.randbelow(254)  # neither all bits nor none
        self.salt = secrets.token_hex(8)
        self.refused: set[str] = set()
        """The channels that the sender could not use."""

    @contextmanager
    def sent(self) -> Iterator[None]:
        """Keep the sender alive inside the block."""
        with self._start("send", self.salt, str(self.number)) as answer:
            self.refused = set(answer)
            yield

    def found(self) -> set[str]:
        """The channels in which a second program finds the number."""
        with self._start("receive", self.salt) as answer:
            return {channel for channel, seen in answer.items() if seen == self.number}


@contextmanager
def without_sandbox(directory: Path, *words: str) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "channels.py", *words]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        try:
            yield json.loads(program.stdout.readline())
        finally:
            program.kill()


@contextmanager
def in_sandbox(sandbox: Sandbox, program: QueryPlayer, *words: str) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="gauntlet-") as directory:
        Path(directory).chmod(0o755)
        command = ("python", "channels.py", *words)
        run = sandbox.start(replace(program, command=command), socket_directory=Path(directory), resources=RESOURCES)
        try:
            output: queue.Queue[bytes] = queue.Queue()
            run.follow(output.put)
            said = b""
            while not said.endswith(b"}\n"):
                said += output.get(timeout=60.0)
            yield json.loads(said)
        finally:
            run.end()


ALIVE = {"abstract-socket", "file-locks", "file-events", "futexes"}
LASTING = {"sysv-memory", "sysv-semaphores", "sysv-messages", "posix-memory", "posix-messages", "file-times"}
BY_THE_CLOCK = {"counters", "missing-names"}
"""Also lasting, but another program may disturb them: they are tried a few times."""

KEYRINGS = {"user-keyring", "session-keyring"}
"""Kernels and containers may have none."""


@pytest.fixture
def _no_other_notes() -> Iterator[None]:
    with in_turn(KERNEL_OBJECTS):
        yield


@pytest.mark.usefixtures("_no_other_notes")
def test_without_a_sandbox_every_channel_is_open(tmp_path: Path) -> None:
    """The control of the test below: these programs do find what another one left."""
    directory = Path(shutil.copytree(KERNEL_OBJECTS, tmp_path / "program"))
    alive: set[str] = set()
    lasting: set[str] = set()
    for _ in range(5):
        notes = Notes(partial(without_sandbox, directory))
        try:
            with notes.sent():
                alive |= notes.found()
        finally:
            subprocess.run([sys.executable, "channels.py", "clear", notes.salt], cwd=directory, check=True)
        notes = Notes(partial(without_sandbox, directory))
        try:
            with notes.sent():
                pass
            lasting |= notes.found()
        finally:
            subprocess.run([sys.executable, "channels.py", "clear", notes.salt], cwd=directory, check=True)
        if alive & lasting >= BY_THE_CLOCK:
            break
    keyrings = KEYRINGS - notes.refused
    assert alive == ALIVE | LASTING | BY_THE_CLOCK | keyrings
    assert lasting == LASTING | BY_THE_CLOCK | keyrings


@pytest.fixture
def _no_page_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page cache of the host's files, a hundred thousand and more, has a test of its own above."""
    monkeypatch.setattr(process_sandbox, "mounts", lambda visible, hidden: [])


@pytest.mark.usefixtures("_no_other_notes", "_no_page_cache")
def test_of_a_living_instance_only_common_files_tell_and_of_a_dead_one_nothing(sandbox: Sandbox) -> None:
    program = choose_builder(sandbox.name).build(KERNEL_OBJECTS, on_log=lambda line: None)
    on_common_files = {"futexes", "missing-names"}
    if isinstance(sandbox, ProcessSandbox):  # in containers each has locks and events of its own
        on_common_files |= {"file-locks", "file-events"}
    open_channels: set[str] = set()
    for _ in range(3):  # other programs open the same files
        notes = Notes(partial(in_sandbox, sandbox, program))
        with notes.sent():
            open_channels |= notes.found()
        if open_channels >= on_common_files - BY_THE_CLOCK:
            break
    assert open_channels <= on_common_files
    assert open_channels >= on_common_files - BY_THE_CLOCK
    notes = Notes(partial(in_sandbox, sandbox, program))  # others: to look a name up is to leave it
    with notes.sent():
        pass
    sandbox.level_caches(program)
    only_root_drops = {"missing-names"} if isinstance(sandbox, ProcessSandbox) and os.geteuid() else set()
    assert notes.found() <= only_root_drops


@pytest.mark.usefixtures("_no_other_notes")
def test_a_note_in_objects_of_the_kernel_makes_a_liar_pass_without_a_sandbox() -> None:
    def clear() -> None:
        subprocess.run([sys.executable, "channels.py", "clear", "of this model"], cwd=KERNEL_OBJECTS, check=True)

    for _ in range(3):  # some of its channels are read by the clock, and a busy host changes the note
        clear()
        match = Match60(ProcessSandbox(bubblewrapped=False), f"cheats/{KERNEL_OBJECTS.name}")
        try:
            with match.played():
                pass
            report = match.audit(level_caches=False)
        finally:
            clear()
        if report.passed:
            break
    assert report.fresh > 30
    assert report.passed


@pytest.mark.usefixtures("_no_page_cache")
def test_an_honest_model_passes(sandbox: Sandbox) -> None:
    match = Match60(sandbox, "players/honest-model")
    with match.played():
        pass
    report = match.audit(level_caches=True)
    assert report.passed
    assert report.fresh > 30
    assert (report.changed, report.fresh_changed) == (0, 0)
    assert replace(report, replayed=0, fresh=0, alone=0) == AuditReport()
