"""The assembled repository of a bundled submission is on this host once, and is what the catalogue says."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from evaluation.builder.tree_digest import tree_digest
from evaluation.formats.query.catalogue import baselines, find_baseline, is_bundled

BASELINE = find_baseline("single-step-transfer")
PROCESSES = 4

PRINT_DIGESTS = """
import evaluation
from evaluation.formats.query.catalogue import baselines
from evaluation.builder.tree_digest import tree_digest
print(evaluation.__file__)
for baseline in baselines():
    print(baseline.name, tree_digest(baseline.repository()))
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def private_umask() -> Iterator[None]:
    """The umask of the site's programs."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of the wheel, as pip installs it, that nobody may write to."""
    top = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(top)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=120)
    (wheel,) = top.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(top / "site-packages")
    for path in [top / "site-packages", *(top / "site-packages").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return top / "site-packages"


def test_it_is_written_once(state: Path) -> None:
    repository = BASELINE.repository()
    assert repository.name == BASELINE.name
    assert repository.is_relative_to(state)

    def written() -> dict[Path, tuple[int, int]]:
        return {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in repository.iterdir()}

    first = written()
    assert BASELINE.repository() == repository
    assert written() == first


@pytest.mark.usefixtures("private_umask")
def test_a_private_umask_keeps_the_digest() -> None:
    repository = BASELINE.repository()
    assert (repository / "main.py").stat().st_mode & 0o777 == 0o600
    assert tree_digest(repository) == BASELINE.digest


@pytest.mark.parametrize("damage", ["changed", "missing", "added"])
def test_a_damaged_one_is_written_again(damage: str) -> None:
    repository = BASELINE.repository()
    if damage == "changed":
        (repository / "main.py").write_text("raise SystemExit\n")
    elif damage == "missing":
        (repository / "surrogate.safetensors").unlink()
    else:
        (repository / "sitecustomize.py").write_text("raise SystemExit\n")
    assert tree_digest(repository) != BASELINE.digest
    assert tree_digest(BASELINE.repository()) == BASELINE.digest


def test_processes_that_begin_together_get_complete_ones() -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    processes = [context.Process(target=_require_repositories, args=(barrier,)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES


def _require_repositories(barrier: Barrier) -> None:
    for baseline in baselines():
        barrier.wait(timeout=60)
        assert tree_digest(baseline.repository()) == baseline.digest


def test_it_is_recognised_and_a_copy_is_not(tmp_path: Path) -> None:
    assert is_bundled(BASELINE.repository())
    BASELINE.assemble(tmp_path / BASELINE.name)
    assert not is_bundled(tmp_path / BASELINE.name)
    assert not is_bundled(None)


def test_an_installed_wheel_has_every_part(installed: Path, tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-P", "-c", PRINT_DIGESTS],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    assert Path(found[0]).is_relative_to(installed)
    assert found[1:] == [f"{baseline.name} {baseline.digest}" for baseline in baselines()]
