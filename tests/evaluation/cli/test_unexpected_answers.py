"""A site that answers otherwise than the API: an older or newer one, a proxy's page, another service at its address."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from evaluation.cli import submission_log
from evaluation.cli.site_client import SiteClient, UnavailableSiteError
from tests.local_server import serving

Gauntlet = Callable[..., tuple[int, str, str]]

COMMANDS = [
    *("whoami", "status", "status 17", "quota", "logs 17", "logs -f 17 --attempt 1", "withdraw 17", "choose 17"),
    *("board digits model", "matches", "matches 17", "matches --competition digits", "challenge 17"),
    *("challenge 17 boundary --wait", "pictures 17", "pictures 17 --challenge 3", "pictures 17 --match 5"),
    *("prove digits-curves/1 17 FILE --wait", "fetch digits/1", "submit repository"),
]
"""Those that ask a site and have `--json`."""

PAGE = b"<!doctype html><title>Sign in to the network</title>"
JSON: dict[str, Any] = {
    "a list": [],
    "a list of lists": [[]],
    "null": None,
    "a text": "signed out",
    "a number": 7,
    "an empty object": {},
    "a login as JSON": {"error": "login_required", "login": "https://proxy.example/login"},
    "a list of nothing": {"results": None, "next": None},
    "a list of texts": {"results": ["a"], "next": None},
    "a list of empty objects": {"results": [{}], "next": None},
    "fields of other types": dict.fromkeys(
        ("username", "number", "lines", "rows", "state", "samples", "builds", "releases"), 1.5
    ),
}
Shape = tuple[int, dict[str, str], bytes]
SHAPES: dict[str, Shape] = {
    **{name: (200, {"Content-Type": "application/json"}, json.dumps(value).encode()) for name, value in JSON.items()},
    "a page": (200, {"Content-Type": "text/html"}, PAGE),
    "nothing": (204, {}, b""),
    "an empty answer": (200, {}, b""),
    "a redirect": (302, {"Location": "http://127.0.0.1:1/login"}, b""),
    "a permanent redirect": (308, {"Location": "http://127.0.0.1:1/"}, b""),
    "a page that forbids": (403, {"Content-Type": "text/html"}, PAGE),
    "a missing page": (404, {"Content-Type": "text/html"}, PAGE),
    "an error of other JSON": (401, {"Content-Type": "application/json"}, b'{"message": "who are you?"}'),
    "a page of a gateway": (502, {"Content-Type": "text/html"}, PAGE),
    "an error as a list": (500, {"Content-Type": "application/json"}, b"[]"),
}
PAUSES = ["", "soon", "-5", "1.5", "\u00b2", "9" * 5_000, "86400", "Wed, 21 Oct 2015 07:28:00 GMT"]


class OtherSite(BaseHTTPRequestHandler):
    """Answers each request with `shape`."""

    shape: ClassVar[Shape] = (200, {}, b"")

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = self.shape
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *arguments: Any) -> None:
        """Stay quiet."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a site to which a person is signed in, from a repository with a commit; nothing is waited for."""
    with serving(OtherSite) as url:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("GAUNTLET_SITE", url)
        monkeypatch.setenv("GAUNTLET_TOKEN", "secret")
        monkeypatch.setattr(submission_log, "EVERY", 0)
        monkeypatch.chdir(tmp_path)
        (tmp_path / "FILE").write_bytes(b"an archive")
        commit = ("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "--message=First")
        for words in (("init", "--quiet", "repository"), ("-C", "repository", *commit)):
            subprocess.run(["git", *words], check=True)
        yield url


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_command_names_the_site_and_what_to_do(
    site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, shape: Shape
) -> None:
    monkeypatch.setattr(OtherSite, "shape", shape)
    for command in (*COMMANDS, "init copy", "choose --newest owls/model"):
        status, _, err = gauntlet(*command.split())
        if (command, shape[2]) == ("choose --newest owls/model", b"") and shape[0] < 300:
            continue  # what it is answered with
        assert (status, "Traceback" in err) == (6, False), f"{command}: {status} {err}"
        assert site in err, command
        assert "fix: " in err, command


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_is_printed_as_json_is_json_in_any_case(
    site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, shape: Shape
) -> None:
    monkeypatch.setattr(OtherSite, "shape", shape)
    for command in COMMANDS:
        status, out, err = gauntlet(*command.split(), "--json")
        assert (status, out) == (6, "") or (status, json.loads(out) is not err) == (0, True), f"{command}: {err}"


@pytest.mark.parametrize("pause", PAUSES)
def test_a_pause_that_cannot_be_waited_for_is_a_refusal(
    site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, pause: str
) -> None:
    monkeypatch.setattr(OtherSite, "shape", (429, {"Retry-After": pause}, PAGE))
    status, _, err = gauntlet("whoami")
    assert (status, f"{site}/api/v1/profile answers 429" in err, "try again later" in err) == (3, True, True), err


def test_an_answer_that_is_shorter_than_announced_is_none(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OtherSite, "shape", (200, {"Content-Length": "9"}, b"\x89PNG"))
    with pytest.raises(UnavailableSiteError, match="5 more expected"):
        SiteClient(site).content("submissions/1/builds/1/samples/0/clean.png")


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_competition_that_no_site_describes_is_refused(
    site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, shape: Shape
) -> None:
    monkeypatch.setattr(OtherSite, "shape", shape)
    status, _, err = gauntlet("check", "--competition", f"{site}/competitions/digits", "numpy-classifier")
    assert (status, "Traceback" in err, "fix: " in err) == (2, False, True), err
