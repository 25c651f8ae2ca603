"""`docs/architecture.md` names modules that exist, and its walks are short."""

from __future__ import annotations

import re
from pathlib import Path

PATH = re.compile(r"`((?:platform|evaluation)/[\w./]+)`")
WALKS = ("A push", "A piece", "A query", "A round")


def test_every_path_exists(root: Path) -> None:
    paths = PATH.findall((root / "docs/architecture.md").read_text())
    assert len(paths) > 40
    assert [path for path in paths if not (root / path).exists()] == []


def test_every_walk_has_at_most_ten_steps(root: Path) -> None:
    sections = (root / "docs/architecture.md").read_text().split("\n## ")
    steps = {section.partition("\n")[0]: len(re.findall(r"(?m)^\d+\. ", section)) for section in sections}
    assert all(5 < steps[walk] <= 10 for walk in WALKS)


def test_the_diagram_has_every_app(root: Path) -> None:
    diagram = (root / "docs/architecture.md").read_text().partition("```mermaid")[2].partition("```")[0]
    folders = (folder for top in ("platform", "evaluation") for folder in (root / top).iterdir())
    names = {folder.name for folder in folders if (folder / "__init__.py").is_file()}
    assert {name for name in names if not re.search(rf"\b{name}\b", diagram)} == set()
