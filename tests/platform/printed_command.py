"""The command that a smoke test prints, as a participant runs it in a shell."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from evaluation.cli import main
from submissions.models import Build
from submissions.selectors import whole_log

MEASURED = ("time", "run")
"""Checks that tell how long something took, which is no result."""


def rows_of(build: Build) -> list[tuple[str, bool, str]]:
    """Return the checks of the site, without those that measure time."""
    return [(row["name"], row["passed"], row["seen"]) for row in build.checks if row["name"] not in MEASURED]


def rows_of_the_printed_command(
    build: Build, directory: Path, capfd: pytest.CaptureFixture[str]
) -> list[tuple[str, bool, str]]:
    """Run the command in the log of `build` on a copy of the submission; return its checks as `rows_of` does."""
    capfd.readouterr()
    assert main([*words_of_the_printed_command("".join(whole_log(build))), str(directory), "--json"]) == 0
    return rows_as_json(capfd.readouterr().out)


def words_of_the_printed_command(text: str) -> list[str]:
    """Return the words of the command in a text of the site, without its name and the folder."""
    command = re.search(r"`gauntlet (check .+?) \.`", text)
    assert command is not None, text
    return shlex.split(command[1])


def rows_as_json(printed: str) -> list[tuple[str, bool, str]]:
    """Return the checks that the command printed as JSON, as `rows_of` does."""
    found = json.loads(printed)["checks"]
    return [(row["name"], row["passed"], row["seen"]) for row in found if row["name"] not in MEASURED]
