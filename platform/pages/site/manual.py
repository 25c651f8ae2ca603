"""The manual: the documents for participants in `docs/`, as pages of the site of its own version."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from pages.markdown import render as render_markdown

_INDEX = "README.md"
"""The index of the documents: those before its second heading of readers are for participants."""

_ENTRY = re.compile(r"\]\(((?:kit/)?([\w-]+)\.md)\)")
_LINK = re.compile(r"\[([^\[\]]+)\]\((?!https?:|#)([^)\s#]*)(#[^)\s]*)?\)")
_FILE = re.compile(r"(?:\.\./|kit/)?([\w-]+)\.md")
_SITE = re.compile(r"\b(?:https://)?SITE/")
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")


@require_safe
def show(request: HttpRequest, name: str) -> HttpResponse:
    """Show a document of the manual."""
    if name not in manual():
        raise Http404("no such document")
    text = document(name, request.build_absolute_uri("/").rstrip("/"))
    context = {"title": manual()[name].title, "text": text, "manual": manual(), "name": name}
    return render(request, "pages/site/manual.html", context)


class ManualPage(NamedTuple):
    """A document of the manual: its title, and its path below `docs/`."""

    title: str
    path: str


@lru_cache(maxsize=1)
def manual() -> dict[str, ManualPage]:
    """Return the documents for participants by their names, in the order of the index.

    An installation without the documents has none.
    """
    index = settings.DOCUMENTS / _INDEX
    if not index.is_file():
        return {}
    for_participants = "".join(index.read_text(encoding="utf-8").split("\n## ")[:2])
    return {name: ManualPage(_read(path)[0], path) for path, name in dict.fromkeys(_ENTRY.findall(for_participants))}


def tutorials() -> dict[str, ManualPage]:
    """Return the documents that lead a team to its first submissions, by their names."""
    return {name: document for name, document in manual().items() if document.path.startswith("kit/")}


@lru_cache(maxsize=64)
def document(name: str, site: str) -> SafeString:
    """Return the text of a document as HTML, its commands with the address of this site.

    Links to files that no page shows become text.
    """
    _, text = _read(manual()[name].path)
    here = _SITE.sub(f"{site}/", text)
    return render_markdown(_LINK.sub(_address, _IMAGE.sub(r"\1", here)), anchors=True)


def _read(path: str) -> tuple[str, str]:
    heading, _, text = (settings.DOCUMENTS / path).read_text(encoding="utf-8").partition("\n")
    return heading.lstrip("# "), text


def _address(link: re.Match[str]) -> str:
    """Return a Markdown link to a page of the manual, or its text alone."""
    file = _FILE.fullmatch(link[2])
    if file is None or file[1] not in manual():
        return link[1]
    return f"[{link[1]}]({reverse('pages:manual', args=[file[1]])}{link[3] or ''})"
