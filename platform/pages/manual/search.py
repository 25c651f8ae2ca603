"""The search in the documents: an index of their sections, made once in each process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from pages.manual.documents import ManualDocument, decisions, documents

LONGEST = 80
"""Characters of a question that are read."""

FOUND = 30
"""Most sections that a search finds."""

_FOUND_IN_A_DOCUMENT = 3
_BEFORE, _EXCERPT = 60, 240
"""Characters of an excerpt before the first word that was found, and in all."""


class Hit(NamedTuple):
    """A section that has every word: its document, the heading unless it is the title, its address and an excerpt."""

    document: ManualDocument
    heading: SafeString
    address: str
    excerpt: SafeString


class Hits(NamedTuple):
    """The best sections, and whether there were more."""

    shown: Sequence[Hit]
    more: bool


class _Entry(NamedTuple):
    document: ManualDocument
    heading: str
    address: str
    text: str
    searched: str
    """All that can be found, in small letters: title, heading and text."""


def search(question: str) -> Hits:
    """Return the sections that have every word of a question, or a word that begins with it, the best ones first.

    A word in the title of a document counts more than one in a heading, and that more than one in the text; decisions
    come after all others. A section has at least one of the words itself; the title may have the others.
    """
    words = list(dict.fromkeys(question[:LONGEST].lower().split()))
    if not words:
        return Hits((), more=False)
    patterns = [_beginning(word) for word in words]
    either = re.compile("|".join(pattern.pattern for pattern in patterns), re.IGNORECASE)
    ranked, last = [], frozenset(decisions())
    for place, entry in enumerate(_index()):
        if all(word in entry.searched for word in words) and all(each.search(entry.searched) for each in patterns):
            title, heading, text = (
                sum(bool(each.search(part)) for each in patterns)
                for part in (entry.document.title, entry.heading, entry.text)
            )
            if heading or text:
                apart = " ".join(words) not in entry.searched
                ranked.append((entry.document in last, -title, -heading, apart, place, entry))
    ranked.sort()
    shown: list[_Entry] = []
    of_document = Counter[str]()
    for *_, entry in ranked:
        of_document[entry.document.name] += 1
        if of_document[entry.document.name] <= _FOUND_IN_A_DOCUMENT:
            shown.append(entry)
    hits = [_hit(entry, either) for entry in shown[:FOUND]]
    return Hits(hits, more=len(hits) < len(ranked))


@lru_cache(maxsize=1)
def _index() -> Sequence[_Entry]:
    found = []
    for document in documents().values():
        title, *others = document.sections()
        text = title.text
        found.append(_Entry(document, title.title, document.address, text, f"{title.title}\n{text}".lower()))
        for section in others:
            searched = f"{document.title}\n{section.title}\n{section.text}".lower()
            address = f"{document.address}#{section.mark}"
            found.append(_Entry(document, section.title, address, section.text, searched))
    return found


def _beginning(word: str) -> re.Pattern[str]:
    """Return what finds a word, or one that begins with it: `state` in GAUNTLET_STATE, `run` not in trunk."""
    start = r"(?<![^\W_])" if word[0].isalnum() else ""
    return re.compile(start + re.escape(word), re.IGNORECASE)


def _hit(entry: _Entry, either: re.Pattern[str]) -> Hit:
    heading = "" if entry.heading == entry.document.title else entry.heading
    return Hit(entry.document, _marked(heading, either), entry.address, _marked(_excerpt(entry.text, either), either))


def _excerpt(text: str, either: re.Pattern[str]) -> str:
    """Return the part of a text around the first word that was found, cut between words."""
    first = either.search(text)
    start = max(0, first.start() - _BEFORE) if first else 0
    if start:
        start = text.find(" ", start) + 1
    end = start + _EXCERPT
    if end < len(text):
        end = max(text.rfind(" ", start, end), first.end() if first else start)
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"


def _marked(text: str, either: re.Pattern[str]) -> SafeString:
    """Return a text with the words that were found marked, escaped."""
    parts, done = [], 0
    for word in either.finditer(text):
        parts.append((text[done : word.start()], word[0]))
        done = word.end()
    return format_html("{}{}", format_html_join("", "{}<mark>{}</mark>", parts), text[done:])
