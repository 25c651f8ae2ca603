"""A site that answers 429 for longer than one request waits: what a command waits for has not failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evaluation.cli import site_device_login, submission_log
from tests.local_server import serving

Gauntlet = Callable[..., tuple[int, str, str]]

LINE = {"number": 1, "stage": "build", "text": "built"}
ANSWERS: dict[str, Any] = {
    "device/code": {
        "device_code": "x", "user_code": "BBBB-BBBB", "verification_uri": "http://x/", "expires_in": 600, "interval": 5,
    },
    "device/token": {"access_token": "gtl_x"},
    "profile": {"username": "alice", "teams": [], "token": None},
    "submissions/17/log": {"attempt": 1, "lines": [LINE], "last": 1, "over": True},
}  # fmt: skip
LIMITED = ("device/token", "submissions/17/log")
REFUSED = {
    "code": "throttled", "detail": "too many requests", "fix": "wait as it says", "accepted_from": None,
}  # fmt: skip


class BusySite(BaseHTTPRequestHandler):
    """Refuses the first requests to what is limited, `refusals` of them."""

    refusals: ClassVar[list[None]] = []

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.removeprefix("/api/v1/").partition("?")[0]
        refused = path in LIMITED and bool(self.refusals)
        if refused:
            self.refusals.pop()
        body = json.dumps(REFUSED if refused else ANSWERS[path]).encode()
        self.send_response(429 if refused else 200)
        self.send_header("Retry-After", "30")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *arguments: Any) -> None:
        """Stay quiet."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A site that refuses seven requests; each of the client's makes three. Nothing is really waited for."""
    for name in ("GAUNTLET_SITE", "GAUNTLET_TOKEN", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(BusySite, "refusals", [None] * 7)
    monkeypatch.setattr("evaluation.cli.site_client.time.sleep", lambda seconds: None)
    with serving(BusySite) as url:
        yield url


def test_a_sign_in_goes_on_where_others_at_the_address_sign_in_too(
    site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a class: without an account, the requests of one network address count together."""
    waited: list[float] = []
    monkeypatch.setattr(site_device_login, "sleep", waited.append)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    status, _, err = gauntlet("login", site)
    assert (status, "Signed in to" in err) == (0, True), err
    assert waited == [5, 10, 15], "and asks less often"


def test_a_submission_is_followed_on(site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission_log, "EVERY", 0)
    monkeypatch.setenv("GAUNTLET_SITE", site)
    monkeypatch.setenv("GAUNTLET_TOKEN", "gtl_x")
    status, out, err = gauntlet("logs", "-f", 17)
    assert (status, out) == (0, "built\n"), err
