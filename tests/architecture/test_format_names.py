"""Shared code does not ask which format a competition has: what differs comes from the parts that formats register."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CODE = re.compile(
    r"Format\.(QUERY|TRANSFER)|format == TRANSFER|_is_transfer\(|\bif transfer\b"
    r"|isinstance\([^)]*(TransferRules|QueryRules)|FORMATS"
)
TEMPLATES = re.compile(r"\{% *(el)?if [^%]*(transfer|query)")

OF_FORMATS = ("platform/formats/", "templates/formats/", "evaluation/formats/")
"""Where a format may name itself."""

NO_FORMAT = {
    "platform/config/log_settings.py": "FORMATS are those of log lines",
    "platform/config/settings.py": "FORMATS are those of log lines",
}
"""Files that name something else, with the reason."""


def branches(root: Path) -> dict[str, list[str]]:
    """Return the lines of shared code that ask for a format, as "file:line", by directory."""
    found: dict[str, list[str]] = {}
    for name in _tracked(root):
        if name not in NO_FORMAT:
            found.setdefault("/".join(name.split("/")[:2]), []).extend(_lines(root, name))
    return {directory: lines for directory, lines in found.items() if lines}


def _tracked(root: Path) -> list[str]:
    """Return the Python files of the site and the engine, and the templates, that git knows and no format has."""
    paths = ["platform/*.py", "evaluation/*.py", "templates", ":!*/migrations/*", *(f":!{each}" for each in OF_FORMATS)]
    command = ["git", "ls-files", "-z", "--", *paths]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60)
    return [name for name in listing.stdout.split("\0") if name and (root / name).is_file()]


def _lines(root: Path, name: str) -> list[str]:
    pattern = TEMPLATES if name.startswith("templates/") else CODE
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    return [f"{name}:{number}" for number, line in enumerate(lines, start=1) if pattern.search(line)]


def test_no_line_of_shared_code_asks_for_a_format(root: Path) -> None:
    found = branches(root)
    sys.stdout.write(f"{sum(map(len, found.values()))} lines of shared code ask for a format\n")
    assert found == {}, "ask the part that the format registers, see platform/formats/base.py"


def test_every_exception_is_needed(root: Path) -> None:
    assert [name for name in NO_FORMAT if not _lines(root, name)] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("platform/pages/board/views.py", "if shown.format == Competition.Format.TRANSFER:"),
        ("platform/rounds/formats.py", 'return "two" if transfer else "one"'),
        ("evaluation/cli/play.py", "if isinstance(rules, TransferRules):"),
        ("evaluation/cli/play.py", "if given.format == TRANSFER:"),
        ("templates/pages/board/board.html", "{% if shown %}{% elif transfer %}{% endif %}"),
    ],
)
def test_a_new_line_is_found(tmp_path: Path, name: str, line: str) -> None:
    own = f"{name.partition('/')[0]}/formats/a/{name.rpartition('/')[2]}"
    for file in (name, own, "platform/pages/migrations/0001_first.py", "platform/config/settings.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f"first\n{line}\n")
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    assert branches(tmp_path) == {"/".join(name.split("/")[:2]): [f"{name}:2"]}
