"""`manage.py competition`, and the lookup of freeze windows."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

import demo
from competitions.models import Competition, FreezeWindow

DIGITS = Path(demo.__file__).with_name("digits.toml")


def test_an_imported_competition_is_exported_as_the_same_document(db: None, tmp_path: Path) -> None:
    call_command("competition", "import", str(DIGITS), verbosity=0)
    out = tmp_path / "again.toml"
    call_command("competition", "export", "digits", "--out", str(out))
    assert tomllib.loads(out.read_text()) == tomllib.loads(DIGITS.read_text())


def test_a_database_without_tables_gives_a_two_line_error(root: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "competition", "import", str(DIGITS)],
        cwd=root,
        env={"GAUNTLET_STATE": str(tmp_path), "GAUNTLET_SANDBOX": "process", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0].startswith("CommandError: the database lacks ")
    assert lines[1:] == ["  fix: run: manage.py migrate"]


def test_it_rejects_what_it_cannot_read(db: None, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"\xff")
    for arguments in (("import", str(bad)), ("import", str(tmp_path / "none.toml")), ("export", "none")):
        with pytest.raises(CommandError, match="fix:"):
            call_command("competition", *arguments)


def test_a_window_includes_its_start_and_excludes_its_end(competition: Competition) -> None:
    start, end = competition.starts_at, competition.starts_at + timedelta(hours=72)
    window = FreezeWindow(competition=competition, starts_at=start, ends_at=end, reason="round 1")
    assert FreezeWindow.in_force([window], start) is window
    assert FreezeWindow.in_force([window], end) is None
