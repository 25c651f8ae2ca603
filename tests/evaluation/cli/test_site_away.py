"""Answers that are no HTTP, or end too early: the site does not answer, which is no error of this program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from socketserver import BaseRequestHandler
from typing import ClassVar

import pytest

from tests.local_server import serving

Gauntlet = Callable[..., tuple[int, str, str]]

CUT = b"Transfer-Encoding: chunked\r\n\r\n100\r\n{"
ANSWERS = {
    "another service": b"SSH-2.0-OpenSSH_9.2\r\n",
    "an answer that is cut off": b"HTTP/1.1 200 OK\r\n" + CUT,
    "an error that is cut off": b"HTTP/1.1 502 Bad Gateway\r\n" + CUT,
    "brackets alone": b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
}


class AnyAnswer(BaseRequestHandler):
    """Answers each request with the same bytes, and closes the connection."""

    answer: ClassVar[bytes] = b""

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.sendall(self.answer)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a site that sends what `AnyAnswer.answer` has."""
    with serving(AnyAnswer) as url:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("GAUNTLET_SITE", url)
        monkeypatch.setenv("GAUNTLET_TOKEN", "secret")
        yield url


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_none_says_that_the_site_does_not_answer(
    site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(AnyAnswer, "answer", answer)
    status, _, err = gauntlet("whoami")
    assert (status, "Traceback" in err) == (6, False), err
    assert site in err
    status, _, err = gauntlet("check", "--competition", f"{site}/competitions/digits", "numpy-classifier")
    assert (status, "Traceback" in err) == (2, False), err


def test_a_refusal_that_comes_before_the_body_is_read_is_a_refusal(
    site: str, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As gunicorn sends it for a token that is not valid, or too many uploads: it then closes the connection."""
    problem = b'{"code": "token-revoked", "detail": "the token is revoked", "fix": "create one", "accepted_from": null}'
    monkeypatch.setattr(AnyAnswer, "answer", b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n" + problem)
    archive = tmp_path / "proof.npz"
    archive.write_bytes(bytes(32 << 20))
    status, _, err = gauntlet("prove", "digits-curves/1", 17, archive)
    assert (status, "the token is revoked" in err) == (3, True), err


def test_an_address_with_a_wrong_port_is_refused(gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUNTLET_SITE", "https://arena.example:http")
    monkeypatch.setenv("GAUNTLET_TOKEN", "secret")
    status, _, err = gauntlet("whoami")
    assert (status, "nonnumeric port" in err) == (6, True), err
