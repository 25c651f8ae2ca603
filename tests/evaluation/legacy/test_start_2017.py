"""The script that starts a submission of 2017."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.legacy.environment import LegacyEnvironment
from evaluation.legacy.player_modules import SOURCE, START_2017


def start(*command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    script = str(SOURCE / START_2017)
    return subprocess.run(
        [sys.executable, script, *command], cwd=directory, check=False, capture_output=True, text=True
    )


def test_an_entry_point_is_started_with_its_arguments_python_and_modules(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text('#!/bin/sh\necho "$1"\ncommand -v python\necho "$PYTHONPATH"\n')
    (tmp_path / "run.sh").chmod(0o755)
    started = start("./run.sh", "16", directory=tmp_path)
    epsilon, python, modules = started.stdout.splitlines()
    assert (started.returncode, epsilon) == (0, "16")
    assert Path(python).parent == Path(sys.executable).parent
    assert modules.split(os.pathsep)[0] == str(SOURCE)


@pytest.mark.parametrize(
    ("requirements", "found"),
    [("Pillow==5.3.0\ncleverhans==3.0.0", True), ("cleverhans>=3", True), ("cleverhans==2.1.0", False), ("", False)],
)
def test_a_program_that_pins_cleverhans_3_finds_it_before_version_2(
    requirements: str, found: bool, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text(requirements)
    (tmp_path / "run.sh").write_text('#!/bin/sh\necho "$PYTHONPATH"\n')
    (tmp_path / "run.sh").chmod(0o755)
    modules = start("./run.sh", directory=tmp_path).stdout.strip().split(os.pathsep)
    assert (str(LegacyEnvironment(Path(sys.prefix)).cleverhans_3) in modules) is found


def test_it_rejects_what_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/no/such/interpreter\n")
    (tmp_path / "run.sh").chmod(0o755)
    started = start("./run.sh", directory=tmp_path)
    assert started.returncode == 127
    assert started.stderr == "./run.sh: cannot start: No such file or directory\n"
