"""No text of a template is outside a tag that translates it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

TRANSLATED = re.compile(r"\{% blocktranslate .*?\{% endblocktranslate %\}", re.DOTALL)
NO_TEXT = re.compile(r"\{% block main_class %\}.*?\{% endblock %\}|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,}")
DEFAULT = re.compile(r'\|default(?:_if_none)?:"([^"&]+)"')
SHOWN = {"alt", "aria-label", "data-name", "placeholder", "title"}
"""Attributes that people read."""
CODE = {"code", "pre", "script", "style"}
SAME = {"| Gauntlet", "Gauntlet", "submission-N", "API", "CSV", "JSON", "SHA-256:", "UTC", "ZIP", "git"}
"""Texts that are the same in every language."""


class Texts(HTMLParser):
    """The texts of HTML that people read, except code."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.code += tag in CODE
        self.found += [value or "" for name, value in attrs if name in SHOWN]

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in CODE

    def handle_data(self, data: str) -> None:
        if not self.code:
            self.found.append(data)


def literals(source: str) -> list[str]:
    """Return the texts of a template that no tag translates."""
    parser = Texts()
    parser.feed(NO_TEXT.sub("", TRANSLATED.sub("", source)))
    parser.close()
    texts = (" ".join(text.split()) for text in [*parser.found, *DEFAULT.findall(source)])
    return [text for text in texts if WORD.search(text) and text not in SAME]


def templates(root: Path) -> Iterator[Path]:
    """The templates of pages and e-mails; the admin is in English."""
    folder = root / "templates"
    yield from (path for path in folder.rglob("*.html") if path.relative_to(folder).parts[0] != "admin")


def test_it_works(root: Path) -> None:
    found = {path.relative_to(root).as_posix(): literals(path.read_text(encoding="utf-8")) for path in templates(root)}
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    "source",
    [
        "<p>Nothing is pushed yet.</p>",
        "<p>{{ count }} teams</p>",
        '<nav aria-label="Tracks"></nav>',
        '<td>{{ at|default:"never" }}</td>',
        '{% blocktranslate %}One{% endblocktranslate %} and {% translate "two" %}',
    ],
)
def test_a_literal_text_is_found(source: str) -> None:
    assert literals(source)


def test_code_and_translated_texts_are_no_literals() -> None:
    assert literals('<p title="{% translate "One" %}">{% translate "Two" %} <code>gauntlet check</code></p>') == []
