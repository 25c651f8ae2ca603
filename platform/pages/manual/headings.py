"""Headings of documents in Markdown: their marks, which links name, and the text below them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markdown_it.token import Token

from pages.markdown import parse


class DocumentSection(NamedTuple):
    """A heading with its level and mark, and the text from it to the next heading, without markup."""

    level: int
    title: str
    mark: str
    text: str


def sections(text: str) -> list[DocumentSection]:
    """Return the sections of a document in their order. What is above its first heading is in none."""
    tokens = parse(text)
    starts = mark_headings(tokens)
    ends = [*starts, len(tokens)][1:]
    return [
        DocumentSection(
            level=int(tokens[start].tag[1]),
            title=_plain(tokens[start + 1]),
            mark=str(tokens[start].attrGet("id")),
            text=" ".join(filter(None, map(_plain, tokens[start + 3 : end]))),
        )
        for start, end in zip(starts, ends, strict=True)
    ]


def mark_headings(tokens: Sequence[Token]) -> list[int]:
    """Give each heading the mark that GitHub gives it, and return where in the tokens they begin."""
    found, counts = [], Counter[str]()
    for index, (opening, title) in enumerate(pairwise(tokens)):
        if opening.type == "heading_open":
            mark = re.sub(r"[^\w -]", "", _plain(title).lower()).replace(" ", "-")
            opening.attrSet("id", f"{mark}-{counts[mark]}" if counts[mark] else mark)
            counts[mark] += 1
            found.append(index)
    return found


def _plain(token: Token) -> str:
    """Return the text of a block as it is read: without markup, addresses of links, and line ends."""
    return " ".join("".join(_texts(token)).split())


def _texts(token: Token) -> Iterator[str]:
    if token.children is None:
        yield token.content
        return
    for child in token.children:
        if child.type in {"softbreak", "hardbreak"}:
            yield " "
        elif child.type != "image":
            yield child.content
