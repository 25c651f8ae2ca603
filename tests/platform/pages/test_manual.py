"""The documents for participants as pages of the site."""

from __future__ import annotations

import re

from django.conf import settings
from django.test import Client

from pages.site.manual import document, manual, tutorials


def test_a_document_is_a_page_that_the_others_and_docs_link(client: Client, db: None) -> None:
    page = client.get("/docs/scoring").content.decode()
    assert '<h1 class="page-title">Scoring, version 1</h1>' in page
    assert 'href="/docs/statistics#ranks"' in page
    assert 'href="/docs/protocol"' in page
    assert 'href="/docs/protocol"' in client.get("/docs").content.decode()
    assert client.get("/docs/operating").status_code == 404


def test_tutorials_begin_on_home_and_docs_and_have_the_address_of_the_site(client: Client, db: None) -> None:
    assert {path.name for path in (settings.DOCUMENTS / "kit").iterdir()} == {f"{name}.md" for name in tutorials()}
    docs, home = (client.get(page).content.decode() for page in ("/docs", "/"))
    assert all(f'href="/docs/{name}"' in docs for name in tutorials())
    assert 'href="/docs/templates"' in home
    assert 'href="/docs/reading"' in home
    assert "git clone http://testserver/git/TEAM/model.git my-model" in client.get("/docs/first-model").content.decode()
    assert not any("SITE/" in document(name, "https://example.org") for name in manual())


def test_links_between_documents_lead_to_headings_that_exist(db: None) -> None:
    assert {"glossary", "submissions", "api"} <= set(manual())
    texts = {name: document(name, "https://example.org") for name in manual()}
    marks = {name: set(re.findall(r' id="([^"]*)"', text)) for name, text in texts.items()}
    links = [
        (name, link[1] or name, link[2])
        for name, text in texts.items()
        for link in re.finditer(r'href="(?:/docs/([\w-]+))?#([^"]+)"', text)
    ]
    assert len(links) > 20
    assert [link for link in links if link[2] not in marks[link[1]]] == []
    assert not any(".md" in address for text in texts.values() for address in re.findall(r'href="(/[^"]*)"', text))
