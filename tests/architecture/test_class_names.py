"""One class name stands for one class in site and engine, so that a reader who sees a name knows its class."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

ALLOWED = {
    "Command": "Django's name of the class of every `manage.py` command",
}
"""Names of several classes, with the reason."""

LEFT_OUT = (":!*/migrations/*", ":!evaluation/baselines/*")
"""Migrations are history, and each bundled submission is a program of its own."""


def classes(root: Path) -> dict[str, list[str]]:
    """Return the files of the top-level classes of site and engine, by name of the class."""
    command = ["git", "ls-files", "-z", "--", "platform/*.py", "evaluation/*.py", *LEFT_OUT]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, list[str]] = {}
    for name in filter(None, listing.stdout.split("\0")):
        if (root / name).is_file():
            for statement in ast.parse((root / name).read_text(encoding="utf-8")).body:
                if isinstance(statement, ast.ClassDef):
                    found.setdefault(statement.name, []).append(name)
    return found


def test_every_name_stands_for_one_class(root: Path) -> None:
    several = {name: files for name, files in classes(root).items() if len(files) > 1}
    assert {name: files for name, files in several.items() if name not in ALLOWED} == {}
    assert set(ALLOWED) <= set(several), "an exception is not needed any more"


def test_it_finds_a_name_of_two_classes(tmp_path: Path) -> None:
    files = ("platform/one.py", "platform/migrations/two.py", "evaluation/three.py", "evaluation/baselines/one/four.py")
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("class Row:\n    class Meta:\n        pass\n")
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    assert {name: sorted(found) for name, found in classes(tmp_path).items()} == {
        "Row": ["evaluation/three.py", "platform/one.py"]
    }
