"""A release has the same bytes each time, and a signature; an audit says what it could not ask."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

MADE_OF = [
    *("deploy", "constraints.txt", "pyproject.toml", "README.md", "LICENSE", "evaluation/__init__.py"),
    *("evaluation/sdk", "evaluation/formats/query/referee/distances_build_hook.py"),
]
"""A part of the repository that makes both wheels in a second."""
BILL = """\
import pathlib, sys
file = pathlib.Path(sys.argv[sys.argv.index("--output-file") + 1])
file.write_text(pathlib.Path(sys.argv[-1]).read_text())
"""
"""Stands for the module that writes bills of materials, which the tests need not have: it writes the lock."""


def git(folder: Path, *words: str) -> None:
    """Run git as somebody."""
    who = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.c",
    }
    subprocess.run(["git", *words], cwd=folder, env=os.environ | who, check=True, capture_output=True)


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """Return a repository with a committed copy of what a release is made of."""
    folder = tmp_path / "checkout"
    for name in subprocess.run(
        ["git", "ls-files", *MADE_OF],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.splitlines():  # fmt: skip
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((root / name).read_bytes())
        copy.chmod((root / name).stat().st_mode)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All")
    return folder


def release(
    checkout: Path, folder: Path, *key: str, umask: int = -1, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Make a release of a checkout."""
    modules = checkout.parent / "modules"
    modules.mkdir(exist_ok=True)
    (modules / "cyclonedx_py.py").write_text(BILL)
    return subprocess.run(
        [checkout / "deploy/release", sys.executable, folder, *key],
        env=os.environ | {"PYTHONPATH": str(modules)} | variables, umask=umask, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_two_releases_of_one_commit_have_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    made = release(checkout, first)
    assert made.returncode == 0, made.stderr
    assert "NOT SIGNED" in made.stderr
    # that of the tests is 0o77, as that of the site
    assert release(checkout, second, umask=0o22, SOURCE_DATE_EPOCH="1000000000").returncode == 0
    files = {file.name: file.read_bytes() for file in first.iterdir()}
    assert files == {file.name: file.read_bytes() for file in second.iterdir()}
    kinds = {"".join(Path(name).suffixes[-2:]) for name in files}
    assert {".tar.gz", ".cdx.json", ".txt"} <= kinds
    assert sum(name.endswith(".whl") for name in files) == 2
    listed = {line.split()[1] for line in files["SHA256SUMS"].decode().splitlines()}
    assert listed == files.keys() - {"SHA256SUMS"}


def test_the_documented_command_verifies_the_signature(checkout: Path, tmp_path: Path) -> None:
    key, dist = tmp_path / "key", tmp_path / "dist"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    made = release(checkout, dist, str(key))
    assert made.returncode == 0, made.stderr
    trusted = tmp_path / "allowed_signers"
    trusted.write_text(f'release@gauntlet namespaces="gauntlet-release" {key.with_suffix(".pub").read_text()}')
    command = ["ssh-keygen", "-Y", "verify", "-f", str(trusted), "-I", "release@gauntlet", "-n", "gauntlet-release"]
    sums = (dist / "SHA256SUMS").read_bytes()
    verify = [*command, "-s", str(dist / "SHA256SUMS.sig")]
    assert subprocess.run(verify, input=sums, capture_output=True, check=False).returncode == 0
    assert subprocess.run(verify, input=sums + b"x", capture_output=True, check=False).returncode != 0
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, check=True)


def test_it_rejects_what_is_not_committed(checkout: Path, tmp_path: Path) -> None:
    (checkout / "evaluation/new.py").touch()
    made = release(checkout, tmp_path / "dist")
    assert made.returncode != 0
    assert "differs from the last commit" in made.stderr
    assert not (tmp_path / "dist").exists()


@pytest.fixture(scope="module")
def audit(root: Path) -> ModuleType:
    """Return the module of `make audit`."""
    spec = importlib.util.spec_from_file_location("audit", root / "deploy/audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SAFE = {"name": "numpy", "version": "2.4.6", "vulns": []}
HOLED = {"name": "pillow", "version": "13.0.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["13.0.1"]}]}
SKIPPED = {"name": "torch", "skip_reason": "Dependency not found on PyPI and could not be audited: torch (2.13.0)"}


@pytest.mark.parametrize(
    ("packages", "said", "status"),
    [
        ([SAFE], "0 known vulnerabilities of the 1 packages", 0),
        ([SAFE, HOLED], "pillow 13.0.0: PYSEC-1, fixed in 13.0.1", 1),
        ([SAFE, SKIPPED], "NOT ASKED about 1 packages", 2),
    ],
)
def test_an_audit_is_no_success_where_the_index_was_not_asked(
    audit: ModuleType, packages: list[dict[str, object]], said: str, status: int
) -> None:
    text, exit_status = audit.report(packages)
    assert (said in text, exit_status) == (True, status), json.dumps(text)
