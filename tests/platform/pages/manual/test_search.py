"""The search in the documents."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils.html import strip_tags

from pages.manual.documents import documents
from pages.manual.search import FOUND, LONGEST, search


def found(question: str) -> list[str]:
    """Return the addresses of the sections that a search shows."""
    return [hit.address for hit in search(question).shown]


def test_it_shows_page_section_and_an_excerpt_with_the_words_marked(client: Client, db: None) -> None:
    page = client.get("/docs/search", {"q": "Leases heartbeat"}).content.decode()
    assert 'value="Leases heartbeat"' in page
    assert '<a href="/docs/workers#' in page
    assert "<mark>heartbeat</mark>" in page
    assert "noindex" in page


def test_a_title_comes_before_a_heading_and_that_before_text() -> None:
    addresses = found("scoring")
    assert addresses[0] == "/docs/scoring"
    assert found("rank")[0] == "/docs/scoring#ranks"
    assert found("dockerfile")[0] == "/docs/builds#images-in-a-dockerfile"


def test_decisions_come_last_and_are_found() -> None:
    numbers = ["/decisions/" in address for address in found("boundary filter plane")]
    assert numbers == sorted(numbers)
    assert any(numbers)


def test_every_word_must_occur() -> None:
    assert found("smoke test")
    assert found("smoke test zzyzx") == []
    for hit in search("median distance").shown:
        text = f"{hit.document.title} " + next(
            f"{each.title} {each.text}" for each in hit.document.sections() if hit.address.endswith(each.mark)
            or hit.address == hit.document.address
        )  # fmt: skip
        assert "median" in text.lower()
        assert "distance" in text.lower()


def test_a_word_is_found_at_its_beginning_in_any_case() -> None:
    assert "/docs/operating#settings" in found("gauntlet_state")
    assert found("GAUNTLET_STATE") == found("gauntlet_state") != []
    assert found("untlet") == [], "it is inside of a word"
    assert found("--sandbox"), "an option"


def test_a_search_shows_few_sections_of_one_document_and_says_that_there_are_more(client: Client, db: None) -> None:
    hits = search("the")
    assert len(hits.shown) == FOUND
    assert hits.more
    names = [hit.document.name for hit in hits.shown]
    assert max(map(names.count, names)) == 3
    assert "the best of more" in client.get("/docs/search", {"q": "the"}).content.decode()


@pytest.mark.parametrize("question", ["<script>alert(1)</script>", '"><b>', "(", "[", "\\", ".*", "&amp;"])
def test_a_question_is_text(client: Client, db: None, question: str) -> None:
    response = client.get("/docs/search", {"q": question})
    assert response.status_code == 200
    assert "<script>alert" not in response.content.decode()
    assert '"><b>' not in response.content.decode()


def test_excerpts_escape_what_documents_have() -> None:
    excerpts = [hit.excerpt for document in documents().values() for hit in search(document.title).shown]
    assert len(excerpts) > 100
    assert any("&lt;" in excerpt or "&quot;" in excerpt for excerpt in excerpts)
    assert not any("<" in strip_tags(excerpt) for excerpt in excerpts)


def test_a_long_question_is_cut(client: Client, db: None) -> None:
    page = client.get("/docs/search", {"q": "scoring " * 1000}).content.decode()
    assert 'href="/docs/scoring"' in page
    assert "scoring " * (LONGEST // 8 + 1) not in page


def test_it_says_so_when_nothing_is_found(client: Client, db: None) -> None:
    assert "No section has all words of <b>zzyzx</b>" in client.get("/docs/search?q=zzyzx").content.decode()
    for empty in ("/docs/search", "/docs/search?q=", "/docs/search?q=%20"):
        assert "Enter words" in client.get(empty).content.decode()


def test_the_other_search_and_docs_lead_to_it(client: Client, db: None) -> None:
    assert 'href="/docs/search?q=leases"' in client.get("/search?q=leases").content.decode()
    assert 'action="/docs/search"' in client.get("/docs").content.decode()
