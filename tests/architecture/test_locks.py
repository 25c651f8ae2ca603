"""Servers and participants install the versions of constraints.txt, and no file whose hash is not in a lock."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

INSTALLED = {
    *("build", "command", "site", "psycopg2", "psycopg2-binary", "psycopg2-build"),
    *("players", "pytorch", "pytorch-cpu", "traces"),
}
"""The locks of what servers and participants install; "release" is for those who make releases."""
ONLY_ELSEWHERE = {"pywin32"}
"""What the command needs on Windows alone, where nobody plays: constraints.txt has no version of it."""
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def packages(lock: Path) -> dict[str, tuple[Requirement, list[str]]]:
    """Return the packages of a lock by name, each with its hashes."""
    text = "".join(line for line in lock.read_text().splitlines(keepends=True) if not line.startswith("#"))
    lines = text.replace("\\\n", " ").splitlines()
    each = [(Requirement(line.partition("--hash")[0]), HASH.findall(line)) for line in lines]
    return {canonicalize_name(requirement.name): (requirement, hashes) for requirement, hashes in each}


def versions(lock: Path) -> dict[str, str]:
    """Return the versions of a lock, or of a list of pins, by name, without a local part."""
    pins = {name: str(requirement.specifier).removeprefix("==") for name, (requirement, _) in packages(lock).items()}
    return {name: version.partition("+")[0] for name, version in pins.items()}


@pytest.fixture
def locks(root: Path) -> dict[str, Path]:
    return {file.stem: file for file in (root / "deploy/locks").iterdir()}


def test_every_package_of_a_lock_has_one_version_and_a_hash(locks: dict[str, Path]) -> None:
    assert locks.keys() == INSTALLED | {"release"}
    for lock in locks.values():
        for name, (requirement, hashes) in packages(lock).items():
            assert [each.operator for each in requirement.specifier] == ["=="], f"{lock.name}: {name}"
            assert hashes, f"{lock.name}: {name} has no hash"
            assert len(hashes) == len(set(hashes)), f"{lock.name}: {name} has a hash twice"


def test_the_locks_have_the_versions_of_the_constraints_and_leave_none_out(root: Path, locks: dict[str, Path]) -> None:
    own = versions(root / "constraints.txt")
    found: set[str] = set()
    for lock in INSTALLED:
        content = versions(locks[lock])
        pinned = own | versions(root / "constraints-dev.txt") if lock == "traces" else own
        differing = {name for name, version in content.items() if pinned.get(name, version) != version}
        assert differing == set(), f"{lock}.txt is older than constraints.txt: run make lock"
        if lock not in {"pytorch", "psycopg2"}:  # the packages of CUDA follow from PyTorch's own pins
            assert content.keys() - pinned.keys() <= ONLY_ELSEWHERE, lock
        found |= content.keys()
    assert own.keys() - found == set(), "run make lock"


def test_servers_and_laptops_have_one_version_of_psycopg2(locks: dict[str, Path]) -> None:
    assert versions(locks["psycopg2"])["psycopg2"] == versions(locks["psycopg2-binary"])["psycopg2-binary"]


def test_a_participant_gets_the_versions_with_which_the_site_runs_players(locks: dict[str, Path]) -> None:
    assert versions(locks["command"]).items() <= versions(locks["site"]).items()


def test_images_and_environments_install_from_the_locks_alone(root: Path) -> None:
    install = (root / "deploy/install").read_text()
    assert install.count(" pip install ") == install.count("--require-hashes") == 1
    for name in ("Dockerfile", ".ci/base-image", "deploy/kit", "deploy/release"):
        assert "pip install" not in (root / name).read_text(), name
    environment = (root / ".ci/virtual-environment").read_text()
    assert "deploy/install .venv/bin/python build site players" in environment
    assert "--requirement constraints.txt" not in environment


@pytest.mark.parametrize("page", ["docs/operating.md", "docs/command.md", "README.md"])
def test_the_docs_install_from_the_locks(root: Path, page: str) -> None:
    commands = re.findall(r"pip install .*", (root / page).read_text())
    assert not [each for each in commands if "constraints" in each]
