"""The limit of what one address may ask of the pages without signing in."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from competitions.models import Competition, SampleSet
from tests.platform.conftest import FakeClock

PAGE = "/docs"
"""A page that is made for each request, so it weighs 4."""


@pytest.fixture(autouse=True)
def _limit(settings: Settings, the_clock: FakeClock, competition: Competition) -> None:
    settings.ANONYMOUS_REQUESTS = 12


def statuses(count: int, address: str = PAGE, client: Client | None = None, **options: str) -> list[int]:
    """The statuses of the answers to some requests."""
    reader = client or Client()
    return [reader.get(address, **options).status_code for _ in range(count)]  # type: ignore[arg-type]


def test_it_says_when_to_try_again(client: Client, the_clock: FakeClock) -> None:
    the_clock.forward(seconds=40)
    assert statuses(4) == [200, 200, 200, 429]
    refused = client.get(PAGE)
    assert refused.headers["Retry-After"] == "20"
    assert refused.headers["Cache-Control"] == "no-store"
    assert "Too many requests" in refused.text
    assert "Try again in 20 seconds." in refused.text
    the_clock.forward(seconds=19)
    assert "Try again in 1 second." in client.get(PAGE).text
    the_clock.forward(seconds=1)
    assert statuses(4) == [200, 200, 200, 429]


def test_shared_pages_weigh_little_and_past_leaderboards_and_searches_much() -> None:
    board = "/competitions/digits/leaderboards/model"
    assert statuses(10, board) == [200] * 9 + [429], "4 for the first one, then 1"
    assert statuses(2, f"{board}?at=2026-11-20", REMOTE_ADDR="192.0.2.1") == [200, 429]
    assert statuses(2, "/search?q=owls", REMOTE_ADDR="192.0.2.2") == [200, 429]
    assert statuses(2, "/search?q=", REMOTE_ADDR="192.0.2.3") == [200, 200]


def test_pictures_of_samples_weigh_little(sample_sets: dict[str, SampleSet]) -> None:
    assert statuses(13, "/competitions/digits/images/0.png") == [200] * 12 + [429]


def test_people_who_are_signed_in_have_no_limit(bob: User) -> None:
    client = Client()
    assert statuses(4)[-1] == 429
    assert client.get("/accounts/login/").status_code == 200, "they can still sign in"
    client.force_login(bob)
    assert statuses(9, client=client) == [200] * 9


@pytest.mark.parametrize(
    "address", ["/healthz", "/accounts/login/", "/api/v1/competitions", "/git/a/b.git/info/refs", "/metrics"]
)
def test_what_has_a_limit_of_its_own_is_not_counted(address: str) -> None:
    assert 429 not in statuses(9, address)
    assert statuses(1) == [200]
    assert statuses(3)[-1] == 429
    assert statuses(1, address) != [429]


def test_static_files_are_served_before_anything_is_counted() -> None:
    names = settings.MIDDLEWARE
    static, limit = "whitenoise.middleware.WhiteNoiseMiddleware", "pages.site.request_limit.limit_anonymous_requests"
    assert names.index(static) < names.index(limit)


def test_each_network_has_a_limit_of_its_own(settings: Settings) -> None:
    assert statuses(4)[-1] == 429
    assert statuses(1, REMOTE_ADDR="192.0.2.1") == [200]
    assert statuses(1, HTTP_X_FORWARDED_FOR="192.0.2.2") == [429], "anybody can send this header"
    settings.PROXIES = 1
    assert statuses(1, HTTP_X_FORWARDED_FOR="192.0.2.2") == [200]
    assert statuses(4, HTTP_X_FORWARDED_FOR="192.0.2.7, 192.0.2.3")[-1] == 429
    assert statuses(1, HTTP_X_FORWARDED_FOR="192.0.2.8, 192.0.2.3") == [429], "the proxy's own entry is the last"
    settings.PROXIES = 2
    assert statuses(1, HTTP_X_FORWARDED_FOR="192.0.2.9, 192.0.2.3") == [200]


def test_addresses_of_ipv6_count_by_their_network() -> None:
    assert statuses(3, REMOTE_ADDR="2001:db8:1:2::1") == [200] * 3
    assert statuses(1, REMOTE_ADDR="2001:db8:1:2:ffff::9") == [429]
    assert statuses(1, REMOTE_ADDR="2001:db8:1:3::1") == [200]
    assert statuses(3, REMOTE_ADDR="::ffff:192.0.2.1") == [200] * 3
    assert statuses(1, REMOTE_ADDR="192.0.2.1") == [429]
    assert statuses(1, REMOTE_ADDR="::ffff:192.0.2.2") == [200]


def test_there_can_be_no_limit(settings: Settings) -> None:
    settings.ANONYMOUS_REQUESTS = 0
    assert statuses(9) == [200] * 9


def test_nobody_is_refused_while_the_cache_is_away(settings: Settings) -> None:
    settings.CACHES = {"default": {"BACKEND": "config.json_cache.JsonRedisCache", "LOCATION": "redis://127.0.0.1:1/0"}}
    assert statuses(9) == [200] * 9


def test_programs_begin_to_sign_in_while_the_cache_is_away(db: None, client: Client, settings: Settings) -> None:
    settings.CACHES = {"default": {"BACKEND": "config.json_cache.JsonRedisCache", "LOCATION": "redis://127.0.0.1:1/0"}}
    answers = [client.post("/api/v1/device/code", '{"client": "x"}', content_type="application/json") for _ in range(2)]
    assert [each.status_code for each in answers] == [200] * 2
