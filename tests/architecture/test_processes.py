"""Tests in several processes: what belongs together stays together, and nothing that goes wrong is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

RunTests = Callable[[str], "subprocess.CompletedProcess[str]"]

HEAD = "import os, time, pytest\n"
ENGINE = """
@pytest.fixture(scope="session", autouse=True)
def both_begin(tmp_path_factory):
    shared = tmp_path_factory.getbasetemp().parent
    (shared / f"began-{os.environ['PYTEST_XDIST_WORKER']}").touch()
    while len(list(shared.glob("began-*"))) < 2:
        time.sleep(0.01)

@pytest.fixture
def noted(tmp_path_factory, request):
    def note(what):
        with (tmp_path_factory.getbasetemp().parent / "seen").open("a") as file:
            file.write(f"{what} {os.environ['PYTEST_XDIST_WORKER']}\\n")
    note("begins alone" if "engine_alone" in request.fixturenames else "begins")
    yield
    time.sleep(0.1)
    note("ends")

# slow ones are dealt to all processes, and run before the others
@pytest.mark.slow(1)
@pytest.mark.docker
@pytest.mark.usefixtures("engine_alone", "noted")
@pytest.mark.parametrize("number", range(4))
def test_alone(number): pass

@pytest.mark.slow(1)
@pytest.mark.docker
@pytest.mark.usefixtures("noted")
@pytest.mark.parametrize("number", range(8))
def test_with_others(number): pass
"""
WRONG = """
def test_that_ends_its_process(): os._exit(0)

@pytest.mark.timeout(1)
def test_that_hangs(): time.sleep(60)

def test_that_fails(): assert 1 == 2

def test_that_passes(): pass
"""


@pytest.fixture
def run_tests(root: Path, tmp_path: Path) -> RunTests:
    """Runs tests of the source given, in two processes, with this project's options and its conftest."""

    configured = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    markers = "\n  ".join(configured["markers"])
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\naddopts = {' '.join(configured['addopts'])}\nmarkers =\n  {markers}\n"
    )
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:django", "--basetemp", str(tmp_path / "temp")]

    def run(source: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "tests"
        folder.mkdir()
        for name in ("conftest.py", "emptying.py", "order.py", "slots.py"):
            shutil.copy(root / "tests" / name, folder)
        (folder / "test_some.py").write_text(HEAD + source)
        environment = os.environ | {"TMPDIR": str(tmp_path)}  # its lock of the engine is not the one of this run
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=240
        )

    return run


def test_one_that_must_be_alone_is_and_a_run_in_which_something_went_wrong_is_rejected(
    run_tests: RunTests, tmp_path: Path
) -> None:
    """Nobody else is at the engine while a test counts what its sweep removes."""
    done = run_tests(ENGINE + WRONG)
    assert done.returncode == 1, done.stdout + done.stderr
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert sorted(line.split("::")[1].split()[0] for line in failed) == [
        "test_that_ends_its_process",
        "test_that_fails",
        "test_that_hangs",
    ]
    assert "crashed while running" in done.stdout
    assert "Timeout" in done.stdout
    assert "3 failed, 13 passed" in done.stdout

    events = [line.rsplit(" ", 1) for line in (tmp_path / "temp" / "seen").read_text().splitlines()]
    running: dict[str, str] = {}
    for what, process in events:
        if what == "ends":
            del running[process]
            continue
        running[process] = what
        assert len(running) == 1 or "begins alone" not in running.values()
    assert len(events) == 2 * 12
    assert len({process for _, process in events}) > 1
