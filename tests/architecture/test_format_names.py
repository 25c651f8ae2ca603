"""Shared code neither asks which format a competition has nor names one: what differs comes from formats' parts."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import formats

CODE = re.compile(
    r"Format\.(QUERY|TRANSFER)|format == TRANSFER|_is_transfer\(|\bif transfer\b"
    r"|isinstance\([^)]*(TransferRules|QueryRules)|FORMATS|\bTrack\.Name\b|\bCompetition\.Format\b"
)
TEMPLATES = re.compile(r"\{% *(el)?if [^%]*(transfer|query)")

OF_FORMATS = ("platform/formats/", "templates/formats/", "evaluation/formats/")
"""Where a format may name itself."""

ALLOWED = {
    'platform/competitions/formats.py: ATTACK = "attack"': "a side: tracks of every format have one",
    'platform/competitions/formats.py: DEFENCE = "defence"': "a side: tracks of every format have one",
    'platform/pages/urls.py: path("competitions/<slug:slug>/curves/<slug:track_name>", curves.compare, '
    'name="curves"),': "a page that other formats have, too",
    'platform/config/log_settings.py: FORMATS = ("json", "text")': "forms of log lines",
    'platform/config/settings.py: DEFAULT_FORMAT = "query"': "the format of files of competitions that name none",
    "platform/config/settings.py: from config.log_settings import FORMATS, LEVELS, log_settings": "forms of log lines",
    'platform/config/settings.py: LOGGING = log_settings(level=env.choice("GAUNTLET_LOG_LEVEL", LEVELS), '
    'form=env.choice("GAUNTLET_LOG_FORMAT", FORMATS))': "forms of log lines",
}
"""Lines of shared code that may stay, as "file: line", with the reason. Migrations are left out: they are history."""


@cache
def quoted_names() -> re.Pattern[str]:
    """Return the pattern of a string that is the name of a format or of one of its tracks."""
    packages = [f"formats.{each.name}" for each in pkgutil.iter_modules(formats.__path__) if each.ispkg]
    names = {import_module(package).NAME for package in packages}
    tracks = {track.name for package in packages for track in import_module(f"{package}.tracks").TRACKS}
    return re.compile(rf"""(["'])({"|".join(sorted(names | tracks))})\1""")


def lines_about_formats(root: Path) -> dict[str, list[str]]:
    """Return the lines of shared code that ask for a format or name one, as "file:line", by directory."""
    found: dict[str, list[str]] = {}
    for name in _tracked(root):
        numbers = [number for number, line in _lines(root, name) if f"{name}: {line}" not in ALLOWED]
        found.setdefault("/".join(name.split("/")[:2]), []).extend(f"{name}:{number}" for number in numbers)
    return {directory: lines for directory, lines in found.items() if lines}


def _tracked(root: Path) -> list[str]:
    """Return the Python files of the site and the engine, and the templates, that git knows and no format has."""
    paths = ["platform/*.py", "evaluation/*.py", "templates", ":!*/migrations/*", *(f":!{each}" for each in OF_FORMATS)]
    command = ["git", "ls-files", "-z", "--", *paths]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60)
    return [name for name in listing.stdout.split("\0") if name and (root / name).is_file()]


def _lines(root: Path, name: str) -> list[tuple[int, str]]:
    """Return the lines of a file that ask for a format or name one, with their numbers."""
    patterns = [TEMPLATES if name.startswith("templates/") else CODE]
    if not name.startswith("evaluation/"):  # its domain defines the names of tracks
        patterns.append(quoted_names())
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    numbered = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    return [(number, line) for number, line in numbered if any(each.search(line) for each in patterns)]


def test_no_line_of_shared_code_asks_for_a_format_or_names_one(root: Path) -> None:
    found = lines_about_formats(root)
    count = sum(map(len, found.values()))
    sys.stdout.write(f"{count} lines of shared code ask for a format or name one, {len(ALLOWED)} more are allowed\n")
    assert found == {}, "ask the part that the format registers, see platform/formats/base.py"


def test_every_exception_is_needed(root: Path) -> None:
    present = {f"{name}: {line}" for name in _tracked(root) for _, line in _lines(root, name)}
    assert set(ALLOWED) <= present


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("platform/pages/board/views.py", "if shown.format == Competition.Format.TRANSFER:"),
        ("platform/rounds/formats.py", 'return "two" if transfer else "one"'),
        ("evaluation/cli/play.py", "if isinstance(rules, TransferRules):"),
        ("evaluation/cli/play.py", "if given.format == TRANSFER:"),
        ("templates/pages/board/board.html", "{% if shown %}{% elif transfer %}{% endif %}"),
        ("platform/submissions/models.py", "track_name = models.CharField(choices=Track.Name.choices)"),
        ("platform/pages/views/boards.py", "competition.tracks.filter(name='untargeted')"),
        ("platform/demo/demo_script.py", 'if competition.format in ("query",):'),
        ("platform/api/serializers.py", 'DEFENCES = "defence"'),
        ("platform/rounds/models.py", 'return {"model": 1}'),
        ("templates/pages/home.html", "{% url 'pages:board' slug 'targeted_attack' %}"),
    ],
)
def test_a_new_line_is_found(tmp_path: Path, name: str, line: str) -> None:
    own = f"{name.partition('/')[0]}/formats/a/{name.rpartition('/')[2]}"
    texts = dict.fromkeys((name, own, "platform/pages/migrations/0001_first.py"), f"first\n{line}\n")
    for file, text in {**texts, "platform/config/settings.py": 'DEFAULT_FORMAT = "query"\n'}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    assert lines_about_formats(tmp_path) == {"/".join(name.split("/")[:2]): [f"{name}:2"]}
