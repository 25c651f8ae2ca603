"""Committed text is true on every machine: pins are complete, links lead somewhere, no path of one machine is named."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pages.manual.headings import sections

HOMES = ("work", "root", "Users")
MACHINE_PATH = re.compile(rf"(?<![\w.<>{{}}$*-])/(?:{'|'.join(HOMES)})/[\w.-]+")
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")


def tracked(root: Path) -> list[Path]:
    """The files that git knows and that lie in the tree."""
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    return [root / name for name in listing.stdout.split("\0") if name and (root / name).is_file()]


def text_of(file: Path) -> str:
    """The text of `file`, empty for binary data."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def pins(root: Path) -> dict[str, str]:
    """Package name to its one allowed version, from the pinned lists."""
    lists = [(root / name).read_text().splitlines() for name in ("constraints.txt", "constraints-dev.txt")]
    lines = (line.strip() for each in lists for line in each)
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    for requirement in requirements:
        assert requirement.url is None
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], f"{requirement} is not pinned"
    return {canonicalize_name(each.name): next(iter(each.specifier)).version for each in requirements}


def machine_paths(root: Path) -> dict[str, list[str]]:
    """The paths of one machine that committed files name, by file."""
    named = {file.relative_to(root).as_posix(): MACHINE_PATH.findall(text_of(file)) for file in tracked(root)}
    return {name: paths for name, paths in named.items() if paths}


def test_no_committed_file_names_a_path_of_one_machine(root: Path) -> None:
    assert machine_paths(root) == {}


@pytest.mark.parametrize("home", HOMES)
def test_it_rejects_a_path_of_one_machine(tmp_path: Path, home: str) -> None:
    (tmp_path / "wrong.md").write_text(f"see /{home}/gauntlet/README.md or file:///{home}/.cache")
    (tmp_path / "right.md").write_text(f"see docs/{home}/page.md")
    (tmp_path / "other.md").write_text(f"see /{home}/mine")  # git does not know it
    for words in (["init", "--quiet"], ["add", "wrong.md", "right.md"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, timeout=60)
    assert machine_paths(tmp_path) == {"wrong.md": [f"/{home}/gauntlet", f"/{home}/.cache"]}


def test_every_requirement_is_pinned(root: Path) -> None:
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    sdk = tomllib.loads((root / "evaluation" / "sdk" / "pyproject.toml").read_text())
    installed_from_here = canonicalize_name(settings["project"]["name"])
    wanted = [
        *settings["project"]["dependencies"],
        *chain.from_iterable(settings["project"]["optional-dependencies"].values()),
        *settings["dependency-groups"]["dev"],
        *settings["build-system"]["requires"],
        *sdk["project"]["dependencies"],
        *sdk["build-system"]["requires"],
    ]
    versions = pins(root)
    for requirement in map(Requirement, wanted):
        if canonicalize_name(requirement.name) == installed_from_here:
            continue
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} does not allow its pin {version}"
        assert "+" not in version, f"{requirement.name} is pinned to a build that only some indexes have"


@cache
def marks(file: Path) -> set[str]:
    """The marks of the headings of a page, as the site gives them."""
    return {section.mark for section in sections(text_of(file))}


def dead_links(root: Path) -> list[str]:
    """The links in pages to a file or heading that does not exist."""
    return [
        f"{page.relative_to(root).as_posix()}: {path}{'#' if anchor else ''}{anchor}"
        for page in tracked(root)
        if page.suffix == ".md" and "repos" not in page.parts
        for path, anchor in LINK.findall(CODE.sub("", text_of(page)))
        if ":" not in path
        for target in [page.parent / path if path else page]
        if not target.exists() or (anchor and anchor not in marks(target))
    ]


def test_every_link_leads_somewhere(root: Path) -> None:
    assert dead_links(root) == []


def test_it_rejects_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "here.md").write_text(
        "# Here\n\n[one](#here) [two](there.md#a-heading-2-times) [three](there.md#again-1) [four](https://x.y/z#a)\n"
        "[five](#there) [six](there.md#here) [seven](nowhere.md)\n\n```text\n[eight](nowhere.md)\n```\n"
    )
    (tmp_path / "there.md").write_text("# A `heading`, 2 [times](here.md)\n\n## Again\n\n## Again\n")
    for words in (["init", "--quiet"], ["add", "here.md", "there.md"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, timeout=60)
    assert dead_links(tmp_path) == ["here.md: #there", "here.md: there.md#here", "here.md: nowhere.md"]


def test_sentences_of_documents_are_short(root: Path) -> None:
    for path in sorted((root / "docs").rglob("*.md")):
        if path.parent.name == "decisions":
            continue
        text = re.sub(r"^```.*?^```$|^[|#].*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
        sentences = [each.split() for each in re.split(r"(?<=[.!?])\s+|\n\s*\n|\n- ", text)]
        counts = [len(words) for words in sentences if len(words) > 1]
        assert not counts or sum(counts) / len(counts) < 25, path.name
