"""The documented commands exist and take their options, and skipped tests are reported."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from django.core.management import get_commands

from evaluation.cli.main import parser

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


def documents(root: Path) -> Iterator[Path]:
    """Yield the documents that tell what to run; decisions tell what was so."""
    yield from (root / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))
    yield from (path for path in sorted((root / "docs").rglob("*.md")) if path.parent.name != "decisions")


def accept_any_value(found: argparse.ArgumentParser) -> None:
    """Let a parser check names of options and choices, and no value: documents name directories and sites."""
    for action in found._actions:
        action.type = None
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                accept_any_value(each)


def takes(found: argparse.ArgumentParser, words: list[str]) -> bool:
    """Return whether a parser takes these words; it prints why not."""
    try:
        found.parse_args(words)
    except SystemExit as error:
        return error.code == 0
    return True


def test_the_command_line_takes_every_documented_command(root: Path) -> None:
    top = parser()
    accept_any_value(top)
    commands = []
    for path in documents(root):
        for block in re.findall(r"^```(?:sh|console)?\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE):
            lines = block.replace("\\\n", " ")
            commands += re.findall(r"^\s*(?:\$ )?(?:\.venv/bin/)?gauntlet (.*)", lines, re.MULTILINE)
    assert len(commands) > 50
    named = [each.replace("TRACK", "model").replace("FRAMEWORK", "numpy") for each in commands]
    assert [each for each in named if not takes(top, shlex.split(each, comments=True))] == []


def test_documented_commands_of_make_and_the_site_exist(root: Path) -> None:
    text = "".join(path.read_text() for path in documents(root))
    named = set(re.findall(r"manage\.py ([a-z_]+)", text))
    assert len(named) > 15
    assert named <= set(get_commands())
    targets = re.findall(r"^([a-z- ]+):", (root / "Makefile").read_text(), re.MULTILINE)
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]+)\b", text, re.MULTILINE))
    assert len(named) > 10
    assert named - {"of"} <= {word for line in targets for word in line.split()}
