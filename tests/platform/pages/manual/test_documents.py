"""The documents as pages of the site: every one of them, with links, images and code that work there."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.conf import settings
from django.test import Client

from pages.manual.documents import contents, decisions, documents, groups, images, neighbours, tutorials

SITE = "https://example.org"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The text of every document, by the address of its page."""
    return {document.address: contents(document, SITE).text for document in documents().values()}


def test_a_document_is_a_page_with_its_headings_and_neighbours(client: Client, db: None) -> None:
    page = client.get("/docs/statistics").content.decode()
    assert '<h1 id="statistics">Statistics</h1>' in page
    assert '<li><a href="#ranks">Ranks</a></li>' in page
    assert '<h2 id="ranks">Ranks</h2>' in page
    assert 'href="/docs/scoring" rel="prev">Scoring, version 1</a>' in page
    assert 'href="/docs/statistics" aria-current="page"' in page
    assert "On this page" not in client.get("/docs/git").content.decode(), "it is short"


def test_every_document_has_a_page_for_its_reader() -> None:
    readers = {group.title.removeprefix("For "): {each.name for each in group.documents} for group in groups()}
    assert {"scoring", "first-model", "api"} <= readers["participants"]
    assert {"competitions", "rounds"} <= readers["organisers"]
    assert {"operating", "security", "workers"} <= readers["operators"]
    assert {"architecture", "adding_a_format", "decisions"} <= readers["newcomers to the code"]
    assert readers["What is new"] == {"changelog"}
    files = {file.relative_to(settings.ROOT).as_posix() for file in (settings.ROOT / "docs").rglob("*.md")}
    files |= {file.name for file in settings.ROOT.glob("*.md")}
    assert {document.path for document in documents().values()} == files - {"docs/README.md"}
    assert len(documents()) == sum(len(group.documents) for group in groups()) + len(decisions())


def test_each_decision_is_a_page_that_the_list_leads_to(client: Client, db: None) -> None:
    first, second = decisions()[:2]
    assert first.address == "/docs/decisions/0001-only-queried-images-count"
    assert f'href="{first.address}"' in client.get("/docs/decisions").content.decode()
    page = client.get(first.address).content.decode()
    assert '<a href="/docs/decisions">Decisions</a>' in page
    assert f'href="{second.address}" rel="next"' in page
    assert neighbours(first) == (None, second)
    assert f"{second.address}</loc>" in client.get("/sitemap.xml").content.decode()


def test_tutorials_begin_on_home_and_docs_and_have_the_address_of_the_site(client: Client, db: None) -> None:
    assert {f"{path.stem}" for path in (settings.ROOT / "docs/kit").iterdir()} == {each.name for each in tutorials()}
    docs, home = (client.get(page).content.decode() for page in ("/docs", "/"))
    assert all(f'href="{each.address}"' in docs for each in tutorials())
    assert 'href="/docs/templates"' in home
    assert 'href="/docs/reading"' in home
    assert "gauntlet login http://testserver/" in client.get("/docs/first-model").content.decode()


def test_every_link_leads_to_a_page_and_every_mark_to_a_heading(
    client: Client, db: None, pages: dict[str, str]
) -> None:
    marks = {address: set(re.findall(r' id="([^"]*)"', text)) for address, text in pages.items()}
    for document in documents().values():
        marks[document.address].add(contents(document, SITE).mark)
    marks["/docs"] = set(re.findall(r' id="([^"]*)"', client.get("/docs").content.decode()))
    links = [
        (page, link[1] or page, link[2])
        for page, text in pages.items()
        for link in re.finditer(r'<a href="(/[^"#]*|)(?:#([^"]*))?"', text)
    ]
    assert len(links) > 300
    assert [link for link in links if link[1] not in marks or (link[2] and link[2] not in marks[link[1]])] == []
    relative = [link for text in pages.values() for link in re.findall(r'(?:href|src)="(?!/|#|https?:)[^"]*"', text)]
    assert relative == []


def test_every_page_answers_and_each_of_its_marks_is_there_once(client: Client, db: None) -> None:
    for document in (*(each for group in groups() for each in group.documents), *decisions()[:3]):
        response = client.get(document.address)
        assert response.status_code == 200, document.name
        counts = Counter(re.findall(r' id="([^"]*)"', response.content.decode()))
        assert [mark for mark, count in counts.items() if count > 1] == [], document.name
        assert "SITE/" not in response.content.decode(), document.name


def test_links_to_other_files_are_text(pages: dict[str, str]) -> None:
    assert "Licence: Apache-2.0." in pages["/docs/readme"]
    assert 'href="/docs/security"' in pages["/docs/readme"]


def test_images_of_the_documents_are_shown_and_no_other_file(client: Client, db: None, pages: dict[str, str]) -> None:
    shown = {name for text in pages.values() for name in re.findall(r'<img src="/docs/images/([^"]*)"', text)}
    assert len(shown) > 15
    assert shown <= set(images())
    assert sum(text.count("<img") for text in pages.values()) >= len(shown)
    answer = client.get("/docs/images/home.webp")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "image/webp"
    assert b"".join(answer.streaming_content) == images()["home.webp"].read_bytes()  # type: ignore[attr-defined]
    since = {"If-Modified-Since": answer.headers["Last-Modified"]}
    assert client.get("/docs/images/home.webp", headers=since).status_code == 304
    for name in ("take_screenshots.py", "nothing.webp", "..%2Fapi.md", "../api.md", "%2E%2E/README.md"):
        assert client.get(f"/docs/images/{name}").status_code == 404, name


def test_code_can_be_copied(pages: dict[str, str]) -> None:
    block = re.search(r'<code id="(code-\d+)">gauntlet login', pages["/docs/first-model"])
    assert block is not None
    assert f'data-copy="{block[1]}"' in pages["/docs/first-model"]


def test_a_page_that_the_reader_has_is_not_sent_again(client: Client, db: None) -> None:
    tag = client.get("/docs/scoring").headers["ETag"]
    assert client.get("/docs/scoring", headers={"If-None-Match": tag}).status_code == 304
    assert client.get("/docs/git", headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("name", ["nothing", "README", "README.md", "decisions/nothing", "../manage.py", "scoring/"])
def test_it_rejects_a_name_of_no_document(client: Client, db: None, name: str) -> None:
    assert client.get(f"/docs/{name}").status_code == 404
