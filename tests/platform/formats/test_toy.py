"""A third format needs no edit outside its folder, and one line of the settings."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = "tests/toy_format"
SEASON = "tests/platform/formats/season_of_the_toy.py"
CONFORMANCE = tuple(f"tests/platform/formats/{name}.py" for name in ("test_conformance", "test_rounds_of_every_format"))


def sources(root: Path) -> list[Path]:
    """Return the modules of the toy format."""
    return sorted((root / FOLDER).rglob("*.py"))


def test_it_has_less_than_300_lines(root: Path) -> None:
    assert 0 < sum(len(path.read_text().splitlines()) for path in sources(root)) < 300


def test_the_page_on_new_formats_lists_its_files(root: Path) -> None:
    section = (root / "docs/adding_a_format.md").read_text().partition("## The files of a small format")[2]
    listed = re.findall(r"^\| `([\w./]+\.\w+)` \|", section, re.MULTILINE)
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", FOLDER],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert sorted(f"{FOLDER}/{path}" for path in listed) == sorted(tracked.stdout.split())


def test_the_classes_that_the_page_names_exist(root: Path) -> None:
    page = (root / "docs/adding_a_format.md").read_text()
    rows = re.findall(r"^\| (`[A-Z]\w+`.*?) \|", page, re.MULTILINE)
    named = [each for row in rows for each in re.findall(r"((?:`\w+`, )*`\w+`) \(`(platform/[\w/]+\.py)`\)", row)]
    assert len(named) > 5
    for names, path in named:
        for name in re.findall(r"\w+", names):
            assert f"class {name}" in (root / path).read_text()


def test_its_settings_are_those_of_every_site_and_one_line(root: Path) -> None:
    module = ast.parse((root / "tests/toy_settings.py").read_text())
    lines = [ast.unparse(each) for each in module.body if not isinstance(each, ast.ImportFrom)]
    assert lines[1:] == ["INSTALLED_APPS = [*INSTALLED_APPS, 'tests.toy_format.ToyConfig']"]


def test_nobody_else_knows_its_name(root: Path) -> None:
    pattern, folders = r"toy_format\|toy format", ("platform", "templates", "evaluation")
    command = ["git", "grep", "--name-only", "--ignore-case", pattern, "--", *folders]
    files = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert files.stdout == ""


@pytest.mark.slow(30)
def test_it_plays_a_season_and_conforms(root: Path) -> None:
    """In a process of its own, whose site has the third format."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:randomly", "--ds=tests.toy_settings"]
    done = subprocess.run(
        [*command, SEASON, *CONFORMANCE, "-k", "season or toy"], cwd=root, capture_output=True, text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 20
    assert "skipped" not in done.stdout
