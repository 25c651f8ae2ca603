"""Site-wide behaviour: favicon, robots.txt, link previews, compression and error pages."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from competitions.models import Competition
from rounds.models import Round
from submissions.models import Submission
from submissions.quota import REFUNDED_FAULTS
from tests.platform.conftest import FakeClock

GZIP = {"Accept-Encoding": "gzip"}


def meta(page: str, name: str) -> str:
    """Return the content of a meta element by its name or property."""
    found = re.search(rf'<meta (?:name|property)="{re.escape(name)}" content="([^"]*)">', page)
    assert found, f"{name} is missing"
    return found[1]


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/competitions/digits",
        "/competitions/digits/leaderboards/model",
        "/teams/owls",
        "/status",
        "/accounts/login/",
    ],
)
def test_a_public_page_has_a_link_preview(client: Client, shown: dict[str, Submission], address: str) -> None:
    page = client.get(address).content.decode()
    title = re.findall(r"<title>(.*?)</title>", page)
    assert title == [meta(page, "og:title")]
    assert len(meta(page, "description")) > 20
    assert meta(page, "og:description") == meta(page, "description")
    assert meta(page, "og:url") == f"http://testserver{address}"
    own = f"http://testserver{address}/share.png"
    drawn = address.startswith("/competitions/")
    assert meta(page, "og:image").startswith(own if drawn else "http://testserver/static/img/share")


def test_a_link_preview_is_escaped(client: Client, competition: Competition) -> None:
    Competition.objects.update(title='Di"gits <b>', summary='A "summary"><script>')
    page = client.get("/competitions/digits").content.decode()
    assert meta(page, "og:title") == "Di&quot;gits &lt;b&gt; | Gauntlet"
    assert meta(page, "description").startswith("A &quot;summary&quot;&gt;&lt;script&gt; ")


def test_a_page_for_a_request_without_a_known_host_still_works(client: Client, db: None) -> None:
    answer = client.get("/", headers={"Host": "elsewhere.example"})
    assert answer.status_code == 400
    assert "og:url" not in answer.content.decode()


def test_the_icon_is_where_browsers_look(client: Client, root: Path) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/static/img/favicon.ico")
    assert (root / "static/img/favicon.ico").read_bytes()[:4] == b"\0\0\1\0"
    assert (root / "static/img/share.png").stat().st_size < 50_000


def test_the_admin_has_the_site_s_icon(client: Client, db: None) -> None:
    client.force_login(User.objects.create_superuser("root", password="a long enough password"))  # noqa: S106 - of nobody
    page = client.get("/admin/").content.decode()
    assert re.search(r'<link[^>]*rel="icon"[^>]*>', page)
    assert 'href="/static/img/mark.svg"' in page


def test_robots_may_read_what_is_public(client: Client) -> None:
    text = client.get("/robots.txt").content.decode()
    assert text.startswith("User-agent: *\n")
    assert "Disallow: /git/\n" in text
    assert "Disallow: /\n" not in text


def addresses(client: Client) -> list[str]:
    """Return the addresses of the sitemap that `robots.txt` names."""
    found = re.search(r"^Sitemap: http://testserver(/\S+)$", client.get("/robots.txt").content.decode(), re.MULTILINE)
    assert found
    answer = client.get(found[1])
    assert answer.headers["Content-Type"].startswith("application/xml")
    root = ElementTree.fromstring(answer.content)  # noqa: S314 - our own
    return [str(each.text) for each in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]


def test_the_sitemap_has_every_public_page_once(client: Client, shown: dict[str, Submission], planned: Round) -> None:
    found = addresses(client)
    assert len(found) == len(set(found))
    paths = [each.removeprefix("http://testserver") for each in found]
    for path in ("/", "/competitions/digits", "/competitions/digits/leaderboards/model", "/teams/owls"):
        assert path in paths
    assert "/competitions/digits/rounds/1" in paths
    documents = {path for path in paths if path.startswith("/docs/")}  # `manual/test_documents.py` reads them
    assert len(documents) > 100
    assert {client.get(path).status_code for path in paths if path not in documents} == {200}


def test_the_sitemap_has_nothing_of_a_competition_that_is_not_public(
    client: Client, shown: dict[str, Submission], planned: Round, olga: User
) -> None:
    Competition.objects.update(public=False)
    client.force_login(olga)
    assert not [each for each in addresses(client) if "digits" in each or "owls" in each]


def test_the_security_contact_has_not_expired(client: Client, settings: Settings, the_clock: FakeClock) -> None:
    settings.SECURITY_CONTACT = "mailto:security@arena.example"
    lines = client.get("/.well-known/security.txt").content.decode().splitlines()
    assert "Contact: mailto:security@arena.example" in lines
    assert "Expires: 2027-05-20T00:00:00Z" in lines
    assert "Canonical: http://testserver/.well-known/security.txt" in lines


def test_without_a_contact_there_is_no_such_file(client: Client, settings: Settings, db: None) -> None:
    settings.SECURITY_CONTACT = ""
    assert client.get("/.well-known/security.txt").status_code == 404


def compressed(answer: HttpResponseBase) -> bool:
    """Return whether the answer is compressed."""
    return answer.headers.get("Content-Encoding") == "gzip"


def test_pages_are_compressed(client: Client, shown: dict[str, Submission]) -> None:
    answer = client.get("/competitions/digits", headers=GZIP)
    assert compressed(answer)
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert not compressed(client.get("/competitions/digits"))


def test_equal_pages_differ_in_length_and_in_the_token_of_their_forms(
    client: Client, shown: dict[str, Submission], bob: User
) -> None:
    client.force_login(bob)
    lengths = {len(client.get("/teams/owls", headers=GZIP).content) for _ in range(8)}
    plain = [client.get("/teams/owls").content.decode() for _ in range(2)]
    tokens = {re.findall(r'csrfmiddlewaretoken" value="(\w+)"', page)[0] for page in plain}
    assert len(lengths) > 1
    assert len(tokens) == 2


def test_pages_stay_out_of_shared_caches(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    board = "/competitions/digits/leaderboards/model.csv"  # its rows depend on the reader while it is frozen
    for address in ("/teams/owls", board, f"/submissions/{shown['scored'].pk}/log.txt"):
        assert client.get(address).headers["Cache-Control"] == "private, no-cache", address
    made = client.post("/account", {"name": "laptop", "scopes": ["read"], "days": "30"})
    assert "no-store" in made.headers["Cache-Control"]
    assert client.get("/robots.txt").headers["Cache-Control"] == "max-age=3600"


def test_secrets_and_streams_are_not_compressed(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    made = client.post("/account", {"name": "laptop", "scopes": ["read"], "days": "30"}, headers=GZIP)
    assert "gtl_" in made.content.decode()
    assert not compressed(made)
    assert not compressed(client.get(f"/submissions/{shown['rejected'].pk}/log.txt", headers=GZIP))


def test_a_csrf_failure_has_its_own_page(bob: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(bob)
    answer = strict.post("/accounts/logout/")
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "Nothing was changed." in page
    assert "CSRF" not in page
    assert 'class="masthead"' in page


def test_the_page_of_a_platform_error_states_the_refund_limit() -> None:
    """Slots are refunded automatically up to a limit in 24 hours; then an organiser decides."""
    page = " ".join(render_to_string("500.html").split())
    assert REFUNDED_FAULTS == 10
    assert "never takes a slot" not in page
    assert "up to ten times in 24 hours. Then an organiser decides" in page
