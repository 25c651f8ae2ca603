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
    command = re.search(r"`(gauntlet check .+?)`", "".join(whole_log(build)))
    assert command is not None
    _, *words, here = shlex.split(command[1])
    assert here == "."
    capfd.readouterr()
    assert main([*words, str(directory), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)["checks"]
    return [(row["name"], row["passed"], row["seen"]) for row in found if row["name"] not in MEASURED]
