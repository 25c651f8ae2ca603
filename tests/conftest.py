"""Fixtures that tests of several rooms use."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import itertools
import os
import select
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from _pytest import runner
from django.conf import settings as settings_of_site
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings

from config.stack_room import with_stack_room
from evaluation.sandbox.bubblewrap import bubblewrap_works
from tests.emptying import empty_databases
from tests.order import add_marks, seconds_of, spread, together
from tests.slots import Slot

# a busy host is no failure
settings.register_profile("any speed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")


def pytest_xdist_auto_num_workers() -> int:
    """Three processes for two cores: many tests wait for players, time limits and servers; each process collects."""
    return max(2, 3 * (os.cpu_count() or 1) // 2)


def pytest_configure() -> None:
    """Run each test with room on the interpreter's stack, as a request to the site and a task of a worker."""
    with_stack_room(runner.runtestprotocol)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without the garbage collector, and keep it from what is there then: modules and tests stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    add_marks(items)
    yield  # shuffled, and chosen by marks
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = spread(items, processes, seconds_of, together)


@pytest.fixture(scope="session")
def slot() -> Iterator[Slot]:
    """This process's number among those that run tests on this host."""
    taken = Slot()
    yield taken
    taken.close()


@pytest.fixture(scope="session")
def django_db_modify_db_settings_parallel_suffix(slot: Slot) -> None:
    """A database for each process that runs tests, of this run, another one or another checkout."""
    for database in settings_of_site.DATABASES.values():
        test = database.setdefault("TEST", {})
        test["NAME"] = f"{test.get('NAME') or 'test_' + str(database['NAME'])}_{slot.number}"


@pytest.fixture(scope="session")
def django_db_use_migrations() -> bool:
    """Make the tables from the models. Journeys migrate, and `make check` compares the two."""
    return False


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """Empty the database fast after a test that commits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_databases)
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(autouse=True, scope="session")
def _hear_interrupts() -> None:
    """A shell starts background jobs with SIGINT ignored, and programs that tests start would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _git_without_maintenance(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No commit or push of a test starts git's own maintenance, as none of the site does: two processes each time."""
    configuration = tmp_path_factory.mktemp("git") / "config"
    configuration.write_text("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n")
    os.environ["GIT_CONFIG_GLOBAL"] = str(configuration)


@pytest.fixture(autouse=True, scope="session")
def _own_register(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A register of started players for each test process: a sweep finds what its own tests left, nobody else's.

    What one process proved of the engine, the others know, and those of the next run: a proof starts 14 containers.
    """
    own = tmp_path_factory.mktemp("state")
    os.environ["XDG_STATE_HOME"] = str(own)
    guards = Path(tempfile.gettempdir()) / f"gauntlet-tests-{os.getuid()}-guards"
    guards.mkdir(exist_ok=True)
    (own / "gauntlet").mkdir()
    (own / "gauntlet" / "guards").symlink_to(guards)


@pytest.fixture(autouse=True)
def _share_engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of the Docker engine run beside each other, but beside one that uses `engine_alone` no other does."""
    if request.node.get_closest_marker("docker") is None:
        yield
        return
    alone = "engine_alone" in request.fixturenames
    with (Path(tempfile.gettempdir()) / f"gauntlet-tests-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture
def engine_alone() -> None:
    """For a test that counts what a sweep of the whole engine removes; see `_share_engine`."""


class SandboxProgram:
    """The `bwrap` that this test's processes find: the host's, behind a link that can be broken."""

    def __init__(self, folder: Path, real: str) -> None:
        self._link = folder / "bwrap"
        self._real = real
        self.restore()

    def restore(self) -> None:
        """It works."""
        self.remove()
        self._link.symlink_to(self._real)

    def remove(self) -> None:
        """It is not there."""
        self._link.unlink(missing_ok=True)

    def replace(self, script: str) -> None:
        """It is a shell script, in which $REAL is the program that works and $COUNT says how often it was started."""
        self.remove()
        count = self._link.with_name("bwrap-count")
        count.write_text("0")
        lock = f"exec 9> {count}-lock; flock 9"  # two start at the same time
        head = f"REAL={self._real}; {lock}; COUNT=$(($(cat {count}) + 1)); echo $COUNT > {count}; exec 9>&-"
        self._link.write_text(f"#!/bin/sh\n{head}\n{script}\n")
        self._link.chmod(0o755)


@pytest.fixture
def sandbox_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SandboxProgram:
    """A PATH of one folder, with links to all that is on the PATH of this host; in it a `bwrap` that can be broken."""
    real = shutil.which("bwrap")
    # asked now, since this process remembers the answer
    assert real is not None and bubblewrap_works(), "these tests need bubblewrap"  # noqa: PT018
    folder = tmp_path / "programs"
    folder.mkdir()
    for directory in map(Path, os.get_exec_path()):
        for program in directory.iterdir() if directory.is_dir() else ():
            link = folder / program.name
            if not link.is_symlink():
                link.symlink_to(program.absolute())
    monkeypatch.setenv("PATH", str(folder))
    return SandboxProgram(folder, real)


class EngineProxy:
    """A Unix socket in front of this host's Docker engine; cut off, it is an engine that cannot be reached."""

    def __init__(self, path: Path, engine: str) -> None:
        self.address = f"unix://{path}"
        self._path = path
        self._engine = engine
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._connected: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._request, self._passes = b"", 0
        self.repair()

    def cut(self) -> None:
        """The engine is gone, and whatever was connected breaks off."""
        with self._lock:
            listener, self._listener = self._listener, None
            broken = [*self._connected, *([listener] if listener else [])]
            self._path.unlink(missing_ok=True)
            for one in broken:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def cut_at(self, request: bytes, passes: int) -> None:
        """Be gone at the request that holds `request`, after so many of them have passed."""
        self._request, self._passes = request, passes

    def repair(self) -> None:
        """The engine is there again."""
        self._request = b""
        if self._listener is None:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self._path))
            self._listener.listen(64)
            self._begin(self._accept, self._listener)

    def close(self) -> None:
        """End for good."""
        self.cut()
        for thread in self._threads:
            thread.join(10)

    def _begin(self, act: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=act, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self, listener: socket.socket) -> None:
        with listener, contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._begin(self._serve, client, listener)

    def _serve(self, client: socket.socket, listener: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as engine, contextlib.suppress(OSError):
            with self._lock:
                if self._listener is not listener:
                    return
                engine.connect(self._engine)
                self._connected |= {client, engine}
            sinks = {client: engine, engine: client}
            while sinks:
                for source in select.select(list(sinks), [], [])[0]:
                    chunk = source.recv(1 << 16)
                    if self._is_due(chunk):
                        self.cut()
                    elif chunk:
                        sinks[source].sendall(chunk)
                    else:
                        sinks.pop(source).shutdown(socket.SHUT_WR)
        with self._lock:
            self._connected -= {client, engine}

    def _is_due(self, chunk: bytes) -> bool:
        if not self._request or self._request not in chunk:
            return False
        self._passes -= 1
        return self._passes < 0


@pytest.fixture
def engine_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineProxy]:
    """The engine, as DOCKER_HOST names it, behind a socket of this test's own."""
    engine = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    with tempfile.TemporaryDirectory(prefix="engine-") as folder:  # the path of a socket is short
        proxy = EngineProxy(Path(folder) / "docker.sock", engine)
        monkeypatch.setenv("DOCKER_HOST", proxy.address)
        yield proxy
        proxy.close()
        gc.collect()  # what clients left open is closed here, and warned of


@pytest.fixture
def first_difference() -> Callable[[Sequence[object], Sequence[object]], str]:
    """Names the first row in which two lists of rows differ; nothing where they are equal."""

    def difference(undisturbed: Sequence[object], disturbed: Sequence[object]) -> str:
        for number, (one, other) in enumerate(itertools.zip_longest(undisturbed, disturbed)):
            if one != other:
                return f"row {number} of {len(undisturbed)}: {one} undisturbed, {other} disturbed"
        return ""

    return difference
