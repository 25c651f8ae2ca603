"""Changelog, decisions and version are kept in one form and agree, and the index of the docs is complete."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.version import Version
from ruamel.yaml import YAML

import evaluation

RELEASE = re.compile(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
MAX_RELEASE_LINES = 60

DECISION_FILE = re.compile(r"(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md")
DECISION = re.compile(
    r"# (?P<title>[^\n]+)\n\n"
    r"- \*\*Status\*\*: (?:accepted|superseded by (?P<successor>\d{4}))\n"
    r"- \*\*Date\*\*: (?P<date>\d{4}-\d{2}-\d{2})\n\n"
    r"## Decision\n\n(?:[^#\n].*\n+)+## Alternatives\n\n(?:[^#\n].*\n+)+## Reason\n\n(?:[^#\n].*\n+)+"
)
INDEX_LINE = re.compile(r"^- \[(\d{4})\]\(([^)]+)\) (.+)$", re.MULTILINE)
MAX_DECISION_LINES = 25


def releases(changelog: str) -> list[tuple[Version, date]]:
    """Return the released versions of a changelog with their dates, in its order."""
    headings = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    matches = filter(None, map(RELEASE.fullmatch, headings))
    return [(Version(match[1]), date.fromisoformat(match[2])) for match in matches]


def changelog_faults(changelog: str) -> Iterator[str]:
    """Yield where a changelog leaves the form of Keep a Changelog, or its newest release is too long."""
    _, *sections = re.split(r"^## ", changelog, flags=re.MULTILINE)
    titles = [section.partition("\n")[0] for section in sections]
    if titles[:1] != ["[Unreleased]"]:
        yield "the first section is not [Unreleased]"
    for title, section in zip(titles, sections, strict=True):
        if title != "[Unreleased]" and not RELEASE.fullmatch(title):
            yield f"{title}: not a version with its date"
        text, *parts = re.split(r"^### ", section, flags=re.MULTILINE)
        kinds = [part.partition("\n")[0] for part in parts]
        if not set(kinds) <= KINDS or len(set(kinds)) < len(kinds):
            yield f"{title}: kinds of changes are {kinds}"
        if (RELEASE.fullmatch(title) and not kinds) or "\n- " in text or any("\n- " not in part for part in parts):
            yield f"{title}: changes are not listed by kind"
    released = releases(changelog)
    if any(newer[0] <= older[0] or newer[1] < older[1] for newer, older in pairwise(released)):
        yield "the newest release is not first"
    if len(sections) > 1 and sections[1].count("\n") > MAX_RELEASE_LINES:
        yield f"{titles[1]} has more than {MAX_RELEASE_LINES} lines"


def decision_faults(folder: Path) -> Iterator[str]:
    """Yield where the files of decisions leave their form, or differ from their index."""
    files = sorted(file for file in folder.iterdir() if file.name != "README.md")
    titles: dict[str, str] = {}
    numbers = [file.name[:4] for file in files]
    if numbers != [f"{number:04}" for number in range(1, len(files) + 1)]:
        yield "numbers do not go from 0001 without gaps"
    for file in files:
        text = file.read_text()
        match = DECISION.fullmatch(text)
        if match is None or not DECISION_FILE.fullmatch(file.name):
            yield f"{file.name}: not in the form of a decision"
            continue
        date.fromisoformat(match["date"])
        titles[file.name] = match["title"]
        if match["successor"] and match["successor"] not in numbers:
            yield f"{file.name}: superseded by a decision that does not exist"
        if text.count("\n") > MAX_DECISION_LINES:
            yield f"{file.name}: more than {MAX_DECISION_LINES} lines"
    lines = INDEX_LINE.findall((folder / "README.md").read_text())
    if sorted((name[:4], name, title) for name, title in titles.items()) != sorted(lines):
        yield "the index does not have each decision once, with its number and title"


def test_the_changelog_has_its_form(root: Path) -> None:
    changelog = (root / "CHANGELOG.md").read_text()
    assert list(changelog_faults(changelog)) == []
    assert len(releases(changelog)) == len(re.findall(r"^## ", changelog, re.MULTILINE)) - 1 > 0


NEW = "## [Unreleased]\n\n"
FIRST = "## [0.1.0] - 2026-11-24\n\n### Added\n\n- All.\n"


@pytest.mark.parametrize(
    ("changelog", "fault"),
    [
        (FIRST, "the first section is not [Unreleased]"),
        (NEW + "## 0.2.0\n\n### Added\n\n- One.\n", "0.2.0: not a version with its date"),
        (NEW + "### News\n\n- One.\n\n" + FIRST, "[Unreleased]: kinds of changes are ['News']"),
        (NEW + "- One.\n\n" + FIRST, "[Unreleased]: changes are not listed by kind"),
        (NEW + "## [0.1.0] - 2026-11-24\n\nAll.\n", "[0.1.0] - 2026-11-24: changes are not listed by kind"),
        (NEW + FIRST + "\n## [0.2.0] - 2026-11-25\n\n### Fixed\n\n- One.\n", "the newest release is not first"),
        (NEW + FIRST + "- More.\n" * 60, "[0.1.0] - 2026-11-24 has more than 60 lines"),
    ],
)
def test_it_rejects_a_changelog_in_another_form(changelog: str, fault: str) -> None:
    assert list(changelog_faults(f"# Changelog\n\n{changelog}")) == [fault]


def test_every_file_states_the_version_of_the_newest_release(root: Path) -> None:
    version, day = releases((root / "CHANGELOG.md").read_text())[0]
    sdk = tomllib.loads((root / "evaluation/sdk/pyproject.toml").read_text())
    citation = YAML(typ="safe").load(root / "CITATION.cff")
    readme = re.search(r"\*\*Status\*\*: version ([\d.]+),", (root / "README.md").read_text())
    assert evaluation.__version__ == sdk["project"]["version"] == citation["version"] == str(version)
    assert citation["date-released"] == day
    assert readme is not None
    assert readme[1] == str(version)


def test_every_decision_has_its_form_and_is_in_the_index(root: Path) -> None:
    assert list(decision_faults(root / "docs/decisions")) == []


def decision(title: str = "All is decided", *, status: str = "accepted", reason: str = "It was open.") -> str:
    """Return the text of a decision."""
    head = f"# {title}\n\n- **Status**: {status}\n- **Date**: 2026-11-24\n\n"
    return f"{head}## Decision\n\nYes.\n\n## Alternatives\n\nNo.\n\n## Reason\n\n{reason}\n"


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"0002-all.md": decision()}, "numbers do not go from 0001 without gaps"),
        ({"0001-all.md": decision(reason="")}, "0001-all.md: not in the form of a decision"),
        ({"0001-all.md": decision(status="open")}, "0001-all.md: not in the form of a decision"),
        ({"0001-All_.md": decision()}, "0001-All_.md: not in the form of a decision"),
        ({"0001-all.md": decision(reason="It was.\n" * 20)}, "0001-all.md: more than 25 lines"),
        (
            {"0001-all.md": decision(status="superseded by 0002")},
            "0001-all.md: superseded by a decision that does not exist",
        ),
        (
            {"0001-all.md": decision("Nothing is decided")},
            "the index does not have each decision once, with its number and title",
        ),
        (
            {"0001-all.md": decision(), "0002-more.md": decision("More is decided")},
            "the index does not have each decision once, with its number and title",
        ),
    ],
)
def test_it_rejects_decisions_in_another_form(tmp_path: Path, files: dict[str, str], fault: str) -> None:
    (tmp_path / "README.md").write_text("- [0001](0001-all.md) All is decided\n")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert fault in list(decision_faults(tmp_path))


def test_it_accepts_a_decision_that_was_superseded(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "- [0001](0001-all.md) All is decided\n- [0002](0002-nothing.md) Nothing is decided\n"
    )
    (tmp_path / "0001-all.md").write_text(decision(status="superseded by 0002"))
    (tmp_path / "0002-nothing.md").write_text(decision("Nothing is decided"))
    assert list(decision_faults(tmp_path)) == []


def test_the_index_of_the_docs_has_every_page(root: Path) -> None:
    index = (root / "docs/README.md").read_text()
    pages = {page.name for page in (root / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()
