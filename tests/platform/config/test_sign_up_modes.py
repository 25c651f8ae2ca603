"""Client addresses behind proxies, login limits and password resets."""

from __future__ import annotations

import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from allauth.core.internal.httpkit import get_client_ip
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
ADDRESS = """
import django; django.setup()
from allauth.core.internal.httpkit import get_client_ip
from django.test import RequestFactory
from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle
request = RequestFactory().get("/", headers={"X-Forwarded-For": "6.6.6.6, 7.7.7.7, 10.0.0.1"})
print(get_client_ip(request), AnonRateThrottle().get_ident(Request(request)))
"""
PROXIES = "from config import settings as s; print(s.ALLAUTH_TRUSTED_PROXY_COUNT, s.REST_FRAMEWORK['NUM_PROXIES'])"
LETTER = """
from django.core.mail import send_mail
send_mail("Welcome", "Hello", None, ["alice@example.org"])
"""


def run_in_site(code: str, state: Path, **variables: str) -> str:
    """What this prints with the settings of a site that was started with these variables."""
    env = {"GAUNTLET_STATE": str(state), "DJANGO_SETTINGS_MODULE": "config.settings"} | variables
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    return done.stdout


def test_the_client_address_is_the_one_before_the_configured_proxies(tmp_path: Path) -> None:
    """Behind as many proxies as the environment says, pages and the API count by the address before them."""
    assert run_in_site(ADDRESS, tmp_path, GAUNTLET_PROXIES="2").split() == ["7.7.7.7", "7.7.7.7"]
    assert run_in_site(PROXIES, tmp_path, GAUNTLET_PROXIES="0").split() == ["0", "0"]


class MailServer(socketserver.TCPServer):
    """Accepts messages by SMTP on this host."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        super().__init__(("127.0.0.1", 0), MailConnection)


class MailConnection(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        in_message = False
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            self.server.lines.append(line)
            if in_message and line != ".":
                continue
            in_message = line.upper() == "DATA"
            self.wfile.write(b"354 go on\r\n" if in_message else b"250 OK\r\n")


def test_letters_go_to_the_server_that_the_environment_names(tmp_path: Path) -> None:
    with MailServer() as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        run_in_site(
            LETTER,
            tmp_path,
            GAUNTLET_EMAIL_HOST="127.0.0.1",
            GAUNTLET_EMAIL_PORT=str(server.server_address[1]),
            GAUNTLET_EMAIL_FROM="site@example.org",
        )
        thread.join(30)
    assert "From: site@example.org" in server.lines
    assert "To: alice@example.org" in server.lines


@pytest.mark.parametrize(("proxies", "address"), [(0, "127.0.0.1"), (1, "10.0.0.1")])
def test_behind_a_proxy_the_client_address_counts(settings: Settings, proxies: int, address: str) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": proxies}
    request = RequestFactory().get("/", headers={"X-Forwarded-For": "6.6.6.6, 10.0.0.1"})
    assert get_client_ip(request) == address
    assert AnonRateThrottle().get_ident(Request(request)) == address


def test_it_limits_password_guesses(client: Client, alice: User) -> None:
    """The counter is shared by all processes, in files or Redis."""
    seen = [client.post("/accounts/login/", {"login": "alice", "password": "no"}) for _ in range(12)]
    assert "Too many failed" in seen[-1].content.decode()
    assert isinstance(caches["default"], FileBasedCache | RedisCache)


def test_wrong_passwords_do_not_lock_out_other_addresses(client: Client, alice: User) -> None:
    """Wrong passwords count for the address that sent them."""
    for _ in range(6):
        client.post("/accounts/login/", {"login": "alice", "password": "no"}, REMOTE_ADDR="6.6.6.6")
    right = {"login": "alice", "password": PASSWORD}
    refused = client.post("/accounts/login/", right, REMOTE_ADDR="6.6.6.6")
    assert "Too many failed" in refused.content.decode()
    assert client.post("/accounts/login/", right, REMOTE_ADDR="10.0.0.7").status_code == 302


def test_one_address_cannot_try_many_names(client: Client, alice: User) -> None:
    for number in range(10):
        client.post("/accounts/login/", {"login": f"name-{number}", "password": "no"})
    response = client.post("/accounts/login/", {"login": "alice", "password": PASSWORD})
    assert "Too many failed" in response.content.decode()


def test_an_ipv6_network_counts_as_one_address(client: Client, alice: User) -> None:
    for number in range(5):
        client.post("/accounts/login/", {"login": "alice", "password": "no"}, REMOTE_ADDR=f"2001:db8::{number}")
    response = client.post("/accounts/login/", {"login": "alice", "password": PASSWORD}, REMOTE_ADDR="2001:db8::9")
    assert "Too many failed" in response.content.decode()


@pytest.mark.parametrize(("https", "proxies", "warned"), [(True, 0, True), (True, 1, False), (False, 0, False)])
def test_a_check_warns_if_all_visitors_share_their_limits(
    settings: Settings, https: bool, proxies: int, warned: bool
) -> None:
    settings.HTTPS, settings.PROXIES = https, proxies
    found = {each.id for each in run_checks(include_deployment_checks=True)}
    assert ("core.W001" in found) == warned


def test_without_a_mail_server_the_page_says_so(client: Client, alice: User) -> None:
    page = client.get("/accounts/password/reset/")
    assert "sends no e-mail" in page.content.decode()
    assert client.post("/accounts/password/reset/", {"email": alice.email}).status_code == 405
