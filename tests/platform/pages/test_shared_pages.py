"""Pages that readers share: never an old one, never somebody else's."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from csp.middleware import CSPMiddleware
from django.contrib.auth.models import AnonymousUser
from django.contrib.messages import INFO
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.test import Client, RequestFactory
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import Team, User
from competitions.models import Competition, Entry, FrozenLeaderboards, Page
from core.reader_time_zone import ZONE_COOKIE
from formats.query.leaderboards.models import Evaluation, Standing
from formats.query.leaderboards.snapshots_and_freezes import take_snapshot
from pages.shared_pages import shared
from rounds.models import Round
from submissions.models import Submission
from tests.platform.conftest import FakeClock

BOARD = "/competitions/digits/leaderboards/model"
HTMX = {"HX-Request": "true"}
PAGES = (
    "/",
    "/competitions",
    "/leaderboards",
    "/teams",
    "/teams/owls",
    "/competitions/digits",
    "/competitions/digits/rules",
    BOARD,
    f"{BOARD}.csv",
    f"{BOARD}?sort=team",
    "/competitions/digits/matrix/untargeted",
    "/competitions/digits/matrix/untargeted.csv",
    "/competitions/digits/history/model",
    "/competitions/digits/rounds/1",
)


@pytest.fixture(autouse=True)
def _now(the_clock: FakeClock) -> None:
    """No minute ends during a test."""


def poll_of(client: Client) -> str:
    """The address that the leaderboard polls."""
    return client.get(BOARD).text.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_made_once_and_then_takes_one_query(
    client: Client,
    shown: dict[str, Submission],
    planned: Round,
    address: str,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    first = client.get(address)
    with django_assert_num_queries(1):
        second = Client().get(address)
    assert (first.status_code, first.content, first.headers["ETag"]) == (200, second.content, second.headers["ETag"])
    first.headers.pop("X-Request-ID")
    second.headers.pop("X-Request-ID")
    assert dict(first.headers) == dict(second.headers)


def test_a_poll_that_brings_nothing_new_takes_few_queries(
    client: Client, shown: dict[str, Submission], bob: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for queries in (1, 3):  # of a session: its row, and the person's
        poll = poll_of(client)
        assert client.get(poll, headers=HTMX).status_code == 204
        with django_assert_num_queries(queries):
            answer = client.get(poll, headers=HTMX)
        assert (answer.status_code, answer.content) == (204, b"")
        client.force_login(bob)


def test_a_poll_brings_a_change_at_once(client: Client, shown: dict[str, Submission], bob: User) -> None:
    for title in ("Grey owl", "White owl"):
        poll = poll_of(client)
        assert [client.get(poll, headers=HTMX).status_code for _ in range(2)] == [204, 204]
        Submission.objects.filter(pk=shown["scored"].pk).update(title=title)
        changed = client.get(poll, headers=HTMX)
        assert title in changed.text
        assert "<html" not in changed.text
        assert "<html" in client.get(poll).text, "what htmx gets is not what a browser gets"
        client.force_login(bob)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda: Evaluation.objects.update(value=9.5), "<b>9.50</b>"),
        (lambda: Team.objects.update(name="The Herons"), "The Herons"),
        (lambda: Entry.objects.update(ineligible_for_prizes=True), "no prize"),
        (lambda: Competition.objects.update(title="Numbers"), "Numbers"),
        (lambda: Standing.objects.all().delete(), "No submission has a score yet."),
        (lambda: Page.objects.create(name="imprint", text="Us.", changed_at=Team.objects.get().created_at), "Imprint"),
    ],
    ids=["score", "name", "prize", "competition", "removal", "page of the site"],
)
def test_a_change_shows_at_once(
    client: Client, shown: dict[str, Submission], change: Callable[[], object], text: str
) -> None:
    assert text not in client.get(BOARD).text
    change()
    assert text in client.get(BOARD).text


def test_a_competition_that_is_hidden_is_gone_at_once(client: Client, shown: dict[str, Submission]) -> None:
    assert [client.get(address).status_code for address in ("/competitions/digits", BOARD)] == [200, 200]
    Competition.objects.update(public=False)
    assert [client.get(address).status_code for address in ("/competitions/digits", BOARD)] == [404, 404]
    assert "Digits" not in client.get("/competitions").text


def test_what_is_frozen_is_never_kept_for_the_public(
    client: Client, shown: dict[str, Submission], competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    organiser = Client()
    organiser.force_login(olga)
    assert "1.25" in client.get(BOARD).text
    take_snapshot(track=competition.tracks.get(name="model"), reason="the final")
    FrozenLeaderboards.objects.create(competition=competition, since=the_clock.forward(seconds=1))
    Evaluation.objects.update(value=9.5, finished_at=the_clock.forward(seconds=1))
    for _ in range(2):
        for address in (BOARD, f"{BOARD}.csv", "/", "/competitions/digits", "/leaderboards", "/teams/owls"):
            assert "9.5" in organiser.get(address).text or address == "/teams/owls", address
            assert "9.5" not in client.get(address).text, address
        for reader, live in ((organiser, True), (client, False)):
            poll = poll_of(reader)
            assert reader.get(poll, headers=HTMX).status_code == 204
            assert ("9.5" in reader.get(f"{BOARD}?seen=other", headers=HTMX).text) == live
    FrozenLeaderboards.objects.all().delete()
    assert "9.5" in client.get(BOARD).text


def test_nobody_gets_the_page_of_somebody_else(
    client: Client, shown: dict[str, Submission], bob: User, charlie: User
) -> None:
    public = client.get(BOARD)
    for reader in (bob, charlie):
        client.force_login(reader)
        for _ in range(2):
            own = client.get(BOARD)
            assert ("your team" in own.text) == (reader is bob)
            assert f"</span>{reader.username}</summary>" in own.text
            assert "ETag" not in own.headers
    client.logout()
    assert client.get(BOARD).content == public.content


def test_the_poll_of_one_person_is_not_that_of_another(
    client: Client, shown: dict[str, Submission], bob: User, charlie: User
) -> None:
    client.force_login(bob)
    poll = poll_of(client)
    assert client.get(poll, headers=HTMX).status_code == 204
    client.force_login(charlie)
    assert "your team" not in client.get(poll, headers=HTMX).text
    client.force_login(bob)
    bob.memberships.all().delete()
    assert client.get(poll, headers=HTMX).status_code == 200, "it is no longer Bob's team"


def test_a_message_is_shown_to_its_reader_alone(client: Client, shown: dict[str, Submission]) -> None:
    assert "Only for you." not in client.get("/").text
    response, messages = HttpResponse(), CookieStorage(RequestFactory().get("/"))
    messages.add(INFO, "Only for you.")
    messages.update(response)
    client.cookies["messages"] = response.cookies["messages"].value
    assert "Only for you." in client.get("/").text
    assert "Only for you." not in Client().get("/").text
    assert "Only for you." not in client.get("/").text


def test_each_time_zone_and_host_has_its_page(client: Client, shown: dict[str, Submission], settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "arena.example"]
    assert " UTC</time>" in client.get("/competitions/digits").text
    client.cookies[ZONE_COOKIE] = "Asia/Kolkata"
    assert " IST</time>" in client.get("/competitions/digits").text
    client.cookies.clear()
    assert " UTC</time>" in client.get("/competitions/digits").text
    assert "http://arena.example/" in client.get("/competitions/digits", headers={"host": "arena.example"}).text
    assert "http://testserver/" in client.get("/competitions/digits").text
    assert "https://testserver/" in client.get("/competitions/digits", secure=True).text


def test_each_reader_gets_the_encoding_that_it_takes(client: Client, shown: dict[str, Submission]) -> None:
    plain = client.get(BOARD)
    packed = client.get(BOARD, headers={"accept-encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content == client.get(BOARD).content
    for answer in (plain, packed):
        assert {"Cookie", "Accept-Encoding"} <= set(answer.headers["Vary"].split(", "))
        assert answer.headers["Content-Length"] == str(len(answer.content))
        assert answer.headers["Cache-Control"] == "private, no-cache"


def test_a_reader_that_has_the_page_gets_no_content(client: Client, shown: dict[str, Submission]) -> None:
    page = client.get(BOARD)
    known = {"if-none-match": page.headers["ETag"]}
    same = client.get(BOARD, headers=known)
    assert (same.status_code, same.content) == (304, b"")
    for name in ("ETag", "Cache-Control", "Content-Security-Policy"):
        assert same.headers[name] == page.headers[name]
    head = client.head(BOARD)
    assert (head.status_code, head.content, head.headers["ETag"]) == (200, b"", page.headers["ETag"])
    assert client.head(BOARD, headers=known).status_code == 304
    Evaluation.objects.update(value=9.5)
    changed = client.get(BOARD, headers=known)
    assert (changed.status_code, "9.50" in changed.text) == (200, True)


def test_text_that_depends_on_the_time_is_made_again_each_minute(
    client: Client, shown: dict[str, Submission], competition: Competition, the_clock: FakeClock
) -> None:
    Evaluation.objects.update(finished_at=the_clock.at)
    Competition.objects.update(ends_at=the_clock.at + timedelta(minutes=2))
    assert ">just now</time>" in client.get(BOARD).text
    the_clock.forward(minutes=1)
    assert ">1 min ago</time>" in client.get(BOARD).text
    assert "in 1 min</span>" in client.get("/competitions/digits").text
    the_clock.forward(minutes=1)
    assert "in 1 min</span>" not in client.get("/competitions/digits").text


def ask(view: Callable[..., HttpResponse]) -> str:
    """What an anonymous reader gets from a shared view."""
    request = RequestFactory().get("/page")
    request.user = AnonymousUser()
    CSPMiddleware(lambda request: HttpResponse()).process_request(request)
    answer: Any = shared(view)(request)
    content: str = answer.content.decode()
    return content


def test_a_page_that_was_made_during_a_change_is_not_kept(competition: Competition) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        title = Competition.objects.get().title
        Competition.objects.update(title="Numbers")  # what another transaction commits meanwhile
        return HttpResponse(title)

    assert [ask(view) for _ in range(3)] == ["Digits", "Numbers", "Numbers"]


@pytest.mark.parametrize(
    "own",
    [
        lambda request, response: get_token(request),
        lambda request, response: str(request.csp_nonce),
        lambda request, response: response.set_cookie("name", "value"),
        lambda request, response: Session.objects.exists(),
        lambda request, response: setattr(response, "status_code", 400),
    ],
    ids=["CSRF token", "nonce", "cookie", "session", "error"],
)
def test_an_answer_to_one_request_is_not_kept(db: None, own: Callable[[HttpRequest, HttpResponse], object]) -> None:
    numbers = iter(range(9))

    def view(request: HttpRequest) -> HttpResponse:
        response = HttpResponse(str(next(numbers)))
        own(request, response)
        return response

    assert [ask(view), ask(view)] == ["0", "1"]


@pytest.mark.django_db(transaction=True)
def test_readers_who_come_at_once_wait_for_one_page(competition: Competition) -> None:
    made: list[str] = []

    def view(request: HttpRequest) -> HttpResponse:
        made.append(title := Competition.objects.get().title)
        time.sleep(0.3)
        return HttpResponse(title)

    def read(number: int) -> str:
        try:
            return ask(view)
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as readers:
        for title in ("Digits", "Numbers"):
            Competition.objects.update(title=title)
            made.clear()
            assert set(readers.map(read, range(12))) == {title}
            assert 1 <= len(made) <= 4, "files do not exclude two that begin at the same moment"


def test_pages_are_served_while_the_cache_is_away(
    client: Client, shown: dict[str, Submission], settings: Settings
) -> None:
    settings.CACHES = {"default": {"BACKEND": "config.json_cache.JsonRedisCache", "LOCATION": "redis://127.0.0.1:1/0"}}
    assert [client.get(BOARD).status_code for _ in range(2)] == [200, 200]
    others = ("/status", "/accounts/login/", "/api/v1/competitions", "/competitions/digits/share.png")
    assert {address: client.get(address).status_code for address in others} == dict.fromkeys(others, 200)
    client.raise_request_exception = False
    refused = client.post("/accounts/login/", {"login": "alice", "password": "guessed"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")  # nobody would count the attempts
