"""The documents of `docs/` by the readers for whom they are, and what a page shows of one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString
from markdown_it.token import Token

from pages.manual.headings import DocumentSection, mark_headings, sections
from pages.markdown import parse, render_tokens

_INDEX = "docs/README.md"
"""The index of the documents: its second headings name the readers, and a page links first to the list under one."""

_DECISIONS = "docs/decisions"
_IMAGES = "docs/images"
_IMAGE_KINDS = frozenset({".webp", ".png", ".svg"})

_ENTRY = re.compile(r"\]\(([\w./-]+\.md)\)")
_SITE = re.compile(r"\b(?:https://)?SITE/")
_TITLE_TOKENS = 3
"""Every document begins with its title: the start of a heading, its text and its end."""


class ManualDocument(NamedTuple):
    """A document: its name in the address of its page, its title, and its path in the source."""

    name: str
    title: str
    path: str

    @property
    def address(self) -> str:
        """The path of its page."""
        return reverse("pages:manual", args=[self.name])

    def sections(self) -> Sequence[DocumentSection]:
        """Return its sections, of which the first has its title."""
        return _sections(self.path)


class Group(NamedTuple):
    """The documents for one kind of reader."""

    title: str
    mark: str
    documents: Sequence[ManualDocument]


class DocumentText(NamedTuple):
    """What the page of a document shows: its text, the mark of its title, and its second headings."""

    text: SafeString
    mark: str
    headings: Sequence[DocumentSection]


@lru_cache(maxsize=1)
def groups() -> Sequence[Group]:
    """Return the documents by their readers, in the order of the index, each in the first group that has it.

    An installation without the documents has none.
    """
    if not _file(_INDEX).is_file():
        return ()
    found, seen = [], set[str]()
    for section, text in zip(_second(_INDEX), _read(_INDEX).split("\n## ")[1:], strict=True):
        paths = [posixpath.normpath(posixpath.join("docs", path)) for path in _ENTRY.findall(text)]
        new = [path for path in dict.fromkeys(paths) if path not in seen and _file(path).is_file()]
        seen.update(new)
        found.append(Group(section.title, section.mark, [_document(path) for path in new]))
    return found


@lru_cache(maxsize=1)
def decisions() -> Sequence[ManualDocument]:
    """Return the decisions, the first one first. Their list is a document of the index."""
    paths = sorted(path.name for path in _file(_DECISIONS).glob("[0-9]*.md"))
    return [_document(f"{_DECISIONS}/{name}") for name in paths]


@lru_cache(maxsize=1)
def documents() -> Mapping[str, ManualDocument]:
    """Return every document that has a page, by its name: those of the index, then the decisions."""
    indexed = (document for group in groups() for document in group.documents)
    return {document.name: document for document in (*indexed, *decisions())}


def tutorials() -> Sequence[ManualDocument]:
    """Return the documents that lead a team to its first submissions."""
    return [document for document in documents().values() if document.path.startswith("docs/kit/")]


def neighbours(document: ManualDocument) -> tuple[ManualDocument | None, ManualDocument | None]:
    """Return the documents before and after one in its list: the index, or the decisions."""
    indexed = [each for group in groups() for each in group.documents]
    row = indexed if document in indexed else decisions()
    place = row.index(document)
    return row[place - 1] if place else None, row[place + 1] if place + 1 < len(row) else None


@lru_cache(maxsize=1)
def images() -> Mapping[str, Path]:
    """Return the images of the documents by their names."""
    folder = _file(_IMAGES)
    files = folder.iterdir() if folder.is_dir() else ()
    return {file.name: file for file in files if file.suffix in _IMAGE_KINDS}


@lru_cache(maxsize=512)
def contents(document: ManualDocument, site: str) -> DocumentText:
    """Return what the page of a document shows, its commands with the address of this site.

    Links to documents and images lead to their pages; those to other files become text. Code can be copied.
    """
    tokens = parse(_SITE.sub(f"{site}/", _read(document.path)))
    mark_headings(tokens)
    lead = _leading_from(document.path)
    for number, token in enumerate(tokens):
        if token.type in {"fence", "code_block"}:
            token.attrSet("id", f"code-{number}")
        if token.children:
            _lead_links(token.children, lead)
    headings = _second(document.path)
    return DocumentText(render_tokens(tokens[_TITLE_TOKENS:]), str(tokens[0].attrGet("id")), headings)


def _document(path: str) -> ManualDocument:
    title = sections(_read(path).partition("\n")[0])[0].title
    folder, _, file = path.removeprefix("docs/").rpartition("/")
    stem = file.removesuffix(".md")
    if folder == "decisions":
        return ManualDocument(folder if stem == "README" else f"{folder}/{stem}", title, path)
    return ManualDocument(stem.lower(), title, path)


def _leading_from(path: str) -> Callable[[str], str | None]:
    """Return what finds the address on this site of a link in the document at `path`."""

    def lead(link: str) -> str | None:
        """Return the address, or None if no page shows what the link names."""
        target, _, mark = link.partition("#")
        if ":" in target or not target:
            return link
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        folder, name = posixpath.split(found)
        if folder == _IMAGES and name in images():
            return reverse("pages:manual_image", args=[name])
        address = reverse("pages:docs") if found == _INDEX else _addresses().get(found)
        return f"{address}#{mark}" if address and mark else address

    return lead


@lru_cache(maxsize=1)
def _addresses() -> Mapping[str, str]:
    return {document.path: document.address for document in documents().values()}


def _lead_links(tokens: list[Token], lead: Callable[[str], str | None]) -> None:
    """Let the links and images of a line lead to pages of this site; a link that cannot becomes text."""
    kept, is_text = [], False
    for token in tokens:
        if token.type == "link_open":
            address = lead(str(token.attrGet("href")))
            is_text = address is None
            token.attrSet("href", address or "")
        elif token.type == "image":
            token.attrSet("src", lead(str(token.attrGet("src"))) or "")
        if not (is_text and token.type in {"link_open", "link_close"}):
            kept.append(token)
    tokens[:] = kept


@cache
def _sections(path: str) -> Sequence[DocumentSection]:
    return sections(_read(path))


def _second(path: str) -> list[DocumentSection]:
    """Return the second headings of a document."""
    return [section for section in _sections(path) if section.level == 2]


def _file(path: str) -> Path:
    root: Path = settings.ROOT
    return root / path


def _read(path: str) -> str:
    return _file(path).read_text(encoding="utf-8")
