"""Retired words of `docs/glossary.md` are used nowhere."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROW = re.compile(r"^\|(?P<term>[^|]*)\|(?P<meaning>[^|]*)\|(?P<retired>[^|]*)\|$", re.MULTILINE)
EXEMPT = {"docs/glossary.md", "tests/architecture/test_vocabulary.py"}
"""Files that may name retired words: the list, and this test."""
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@pytest.fixture(scope="module")
def retired(root: Path) -> re.Pattern[str]:
    """A pattern of all retired words."""
    rows = ROW.findall((root / "docs/glossary.md").read_text())
    words = [word.strip() for *_, column in rows if column.strip(" -") not in {"", "not"} for word in column.split(",")]
    assert len(words) > 15
    alternatives = "|".join(r"\s+".join(map(re.escape, word.split())) for word in words)
    return re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """What a reader meets in a file: identifiers as words, strings and comments; of other files every line."""
    source = file.read_text()
    if file.suffix != ".py":
        yield from enumerate(source.splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], " ".join(PARTS.findall(token.string))
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], token.string


def readable(root: Path) -> list[Path]:
    """Code, templates and docs, without the submissions that tests play."""
    listing = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True, timeout=60)
    return [
        root / name
        for name in listing.stdout.splitlines()
        if name.endswith((".py", ".html", ".txt", ".md", ".toml", ".yaml"))
        and not name.startswith(("tests/repos/", "evaluation/baselines/"))
        and name not in EXEMPT
        and (root / name).is_file()
    ]


def may_use(file: Path, retired: re.Pattern[str]) -> bool:
    """Whether the letters of a file, without what is between its words, have a retired word: that takes no parser."""
    return retired.search(" ".join(PARTS.findall(file.read_text()))) is not None


def test_no_retired_word_is_used(root: Path, retired: re.Pattern[str]) -> None:
    found = [
        f"{file.relative_to(root)}:{line}: {match.group()}"
        for file in readable(root)
        if may_use(file, retired)
        for line, text in texts(file)
        for match in retired.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("text", ["Whoever pushes", "the boards stand\n    still", "make_seat", "DoorbellTask"])
def test_a_retired_word_is_found_in_any_form(retired: re.Pattern[str], text: str) -> None:
    words = " ".join(PARTS.findall(text)) if " " not in text else text
    assert retired.search(words)


def test_every_term_is_listed_once(root: Path) -> None:
    rows = ROW.findall((root / "docs/glossary.md").read_text())
    terms = [term.strip() for term, *_ in rows if term.strip(" -") not in {"", "term"}]
    assert len(terms) == len(set(terms)) > 40
