"""The documented commands of the Makefile exist, and skipped tests are reported."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

DOCUMENTED = {"setup", "demo", "test", "check", "bench", "base-image", "clean", "help"}


def make(root: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run make without the set-up and without a Docker engine."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"CI", "MAKEFLAGS", "MAKELEVEL"}}
    return subprocess.run(
        ["make", "--no-print-directory", "--assume-old=.venv/.set-up", "--assume-old=.venv/.set-up-dev", *arguments],
        cwd=root,
        env=inherited | {"DOCKER_HOST": "unix:///nowhere/docker.sock"} | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_make_alone_lists_every_documented_command(root: Path) -> None:
    result = make(root)
    listed = {line.split()[1] for line in result.stdout.splitlines()}
    assert result.returncode == 0
    assert listed >= DOCUMENTED


def test_the_commands_of_the_readme_exist(root: Path) -> None:
    lines = (line.split() for line in (root / "README.md").read_text().splitlines())
    named = {words[1] for words in lines if len(words) > 1 and words[0] == "make"}
    assert {"demo", "test"} <= named <= DOCUMENTED


def test_without_docker_one_line_names_the_skipped_tests(root: Path) -> None:
    result = make(root, "test", "ARGS=--version")
    assert result.returncode == 0, result.stderr
    assert [line for line in result.stdout.splitlines() if "Docker" in line] == [
        "Left out: the tests of the Docker sandbox. Start a Docker engine, then: make base-image test"
    ]


def test_it_rejects_a_ci_without_docker(root: Path) -> None:
    result = make(root, "test", "ARGS=--version", CI="true")
    assert result.returncode != 0
    assert "in CI that is an error" in result.stderr
