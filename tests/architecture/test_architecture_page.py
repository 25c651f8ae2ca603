"""The pages on the architecture and on new formats name what exists, and the walks are short."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from formats.base import Format

PATH = re.compile(r"`((?:platform|evaluation)/[\w./]+)`")
WALKS = ("A push", "A piece", "A query", "A round")


@pytest.mark.parametrize(("page", "least"), [("architecture", 40), ("adding_a_format", 15)])
def test_every_path_exists(root: Path, page: str, least: int) -> None:
    paths = [path for path in PATH.findall((root / f"docs/{page}.md").read_text()) if "/NAME/" not in path]
    assert len(paths) > least
    assert [path for path in paths if not (root / path).exists()] == []


def test_every_walk_has_at_most_ten_steps(root: Path) -> None:
    sections = (root / "docs/architecture.md").read_text().split("\n## ")
    steps = {section.partition("\n")[0]: len(re.findall(r"(?m)^\d+\. ", section)) for section in sections}
    assert all(5 < steps[walk] <= 10 for walk in WALKS)


def test_the_diagram_has_every_app(root: Path) -> None:
    diagram = (root / "docs/architecture.md").read_text().partition("```text")[2].partition("```")[0]
    folders = (folder for top in ("platform", "evaluation") for folder in (root / top).iterdir())
    names = {folder.name for folder in folders if (folder / "__init__.py").is_file()}
    assert {name for name in names if not re.search(rf"\b{name}\b", diagram)} == set()


def test_the_page_on_formats_has_every_part(root: Path) -> None:
    named = re.findall(r"^\| `(\w+)` \| `platform/", (root / "docs/adding_a_format.md").read_text(), re.MULTILINE)
    assert ["name", *named] == [field.name for field in dataclasses.fields(Format)]
