"""What stands between strangers and the site: addresses behind proxies, counted attempts, forgotten passwords."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from allauth.core.internal.httpkit import get_client_ip
from django.conf import settings as configured
from django.core.cache import caches
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.redis import RedisCache
from django.core.checks import run_checks
from django.test import Client, RequestFactory
from pytest_django import Settings
from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle

from accounts.models import User

PASSWORD = "a long enough password"  # noqa: S105 - of nobody
SHOW = "from django.conf import settings as s; print(s.PROXIES, s.ALLAUTH_TRUSTED_PROXY_COUNT, "
SHOW += "s.REST_FRAMEWORK['NUM_PROXIES'], s.EMAIL_BACKEND, s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_HOST_USER, "
SHOW += "s.EMAIL_HOST_PASSWORD, s.DEFAULT_FROM_EMAIL, s.CACHES['default']['BACKEND'])"


def test_it_works(tmp_path: Path) -> None:
    """What the environment says is what allauth, the API and e-mail go by."""
    env = {
        "GAUNTLET_STATE": str(tmp_path),
        "GAUNTLET_PROXIES": "2",
        "GAUNTLET_BROKER": "redis://localhost/1",
        "GAUNTLET_EMAIL_HOST": "mail.example",
        "GAUNTLET_EMAIL_PORT": "465",
        "GAUNTLET_EMAIL_USER": "site",
        "GAUNTLET_EMAIL_PASSWORD": "word",
        "GAUNTLET_EMAIL_FROM": "site@example.org",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{configured.ROOT / 'platform'}",
    }
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, check=True, capture_output=True, text=True)
    words = done.stdout.split()
    assert words[:3] == ["2", "2", "2"]
    assert words[3] == "django.core.mail.backends.smtp.EmailBackend"
    assert words[4:9] == ["mail.example", "465", "site", "word", "site@example.org"]
    assert words[9].endswith("RedisCache")


@pytest.mark.parametrize(("proxies", "address"), [(0, "127.0.0.1"), (1, "10.0.0.1")])
def test_behind_a_proxy_the_address_before_it_counts(settings: Settings, proxies: int, address: str) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": proxies}
    request = RequestFactory().get("/", headers={"X-Forwarded-For": "6.6.6.6, 10.0.0.1"})
    assert get_client_ip(request) == address
    assert AnonRateThrottle().get_ident(Request(request)) == address


def test_it_rejects_one_guess_too_many_at_a_password(client: Client, alice: User) -> None:
    """The count is where all processes see it, in files or in Redis: never in the memory of one."""
    seen = [client.post("/accounts/login/", {"login": "alice", "password": "no"}) for _ in range(12)]
    assert "Too many failed" in seen[-1].content.decode()
    assert isinstance(caches["default"], FileBasedCache | RedisCache)


def test_nobody_locks_out_somebody_else(client: Client, alice: User) -> None:
    """Wrong passwords count for the address that they came from."""
    for _ in range(6):
        client.post("/accounts/login/", {"login": "alice", "password": "no"}, REMOTE_ADDR="6.6.6.6")
    right = {"login": "alice", "password": PASSWORD}
    refused = client.post("/accounts/login/", right, REMOTE_ADDR="6.6.6.6")
    assert "Too many failed" in refused.content.decode()
    assert client.post("/accounts/login/", right, REMOTE_ADDR="10.0.0.7").status_code == 302


def test_one_address_cannot_try_one_name_after_the_other(client: Client, alice: User) -> None:
    for number in range(10):
        client.post("/accounts/login/", {"login": f"name-{number}", "password": "no"})
    answer = client.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    assert "Too many failed" in answer.content.decode()


def test_one_network_of_ipv6_counts_as_one_address(client: Client, alice: User) -> None:
    for number in range(5):
        client.post("/accounts/login/", {"login": "alice", "password": "no"}, REMOTE_ADDR=f"2001:db8::{number}")
    answer = client.post("/accounts/login/", {"login": "alice", "password": PASSWORD}, REMOTE_ADDR="2001:db8::9")
    assert "Too many failed" in answer.content.decode()


@pytest.mark.parametrize(("https", "proxies", "warned"), [(True, 0, True), (True, 1, False), (False, 0, False)])
def test_a_check_warns_where_all_visitors_would_share_their_limits(
    settings: Settings, https: bool, proxies: int, warned: bool
) -> None:
    settings.HTTPS, settings.PROXIES = https, proxies
    found = {each.id for each in run_checks(include_deployment_checks=True)}
    assert ("core.W001" in found) == warned


def test_without_a_server_for_e_mail_the_page_says_so(client: Client, alice: User) -> None:
    page = client.get("/accounts/password/reset/")
    assert "does not send e-mail" in page.content.decode()
    assert client.post("/accounts/password/reset/", {"email": alice.email}).status_code == 405
