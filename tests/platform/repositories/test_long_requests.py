"""The request of a clone is short, and git works on it for a limited time."""

from __future__ import annotations

import base64
import gzip
import http.client
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

import pytest
from django.conf import settings

from repositories.git_command import MAX_CPU_SECONDS
from repositories.http.request_body import MAX_FETCH_BYTES
from repositories.models import PushCost

FLUSH = b"0000"


class Site(Protocol):
    """`Arena` of the conftest."""

    address: str

    def url(self, token: str, place: str = "owls/model") -> str: ...
    def start_push(self, token: str, length: int) -> http.client.HTTPConnection: ...
    def working(self) -> dict[int, str]: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    def git(self, *words: str) -> str: ...


def line(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def fetch(arena: Site, token: str, body: bytes, *, encoding: str = "gzip") -> tuple[int, bytes]:
    """Send the request of a fetch; return status and answer."""
    headers = {
        "Authorization": f"Basic {base64.b64encode(f'me:{token}'.encode()).decode()}",
        "Content-Type": "application/x-git-upload-pack-request",
    }
    if encoding:
        headers["Content-Encoding"] = encoding
    with closing(http.client.HTTPConnection(arena.address, timeout=60)) as connection:
        connection.request("POST", "/git/owls/model.git/git-upload-pack", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def head(arena: Site, copy: WorkingCopy, token: str) -> str:
    """The commit that was pushed."""
    copy.git("push", arena.url(token), "main")
    return copy.git("rev-parse", "HEAD")


@pytest.mark.parametrize("encoding", ["gzip", ""])
def test_a_request_for_a_clone_is_answered_with_a_pack_compressed_or_not(
    arena: Site, token: str, head: str, encoding: str
) -> None:
    body = line(f"want {head}\n") + FLUSH + line(f"have {'1' * 40}\n") * 1000 + line("done\n")
    status, answer = fetch(arena, token, gzip.compress(body) if encoding else body, encoding=encoding)
    assert (status, b"PACK" in answer) == (200, True)


@pytest.mark.parametrize("encoding", ["gzip", ""])
def test_it_rejects_a_request_that_is_too_long(arena: Site, token: str, head: str, encoding: str) -> None:
    haves = line(f"have {head}\n") * (1 + MAX_FETCH_BYTES // 50)
    body = line(f"want {head}\n") + FLUSH + haves + line("done\n")
    status, answer = fetch(arena, token, gzip.compress(body) if encoding else body, encoding=encoding)
    assert status == 413
    assert b"the request names more commits than fit in 8 MiB; clone into an empty folder" in answer


def test_it_rejects_a_damaged_encoding(arena: Site, token: str, head: str) -> None:
    assert fetch(arena, token, b"not gzip") == (
        400,
        b"Gauntlet: the request was interrupted: its gzip encoding is damaged: "
        b"Error -3 while decompressing data: incorrect header check\n",
    )


def test_git_has_a_limit_of_processor_time(arena: Site, token: str) -> None:
    with closing(arena.start_push(token, 4096)) as push:
        push.send(b"0" * 1024)
        until, limits = time.monotonic() + 20, list[str]()
        while not limits and time.monotonic() < until:
            for number, command in arena.working().items():
                if "receive-pack" in command:
                    with suppress(OSError):
                        limits = Path(f"/proc/{number}/limits").read_text().splitlines()
    while PushCost.objects.filter(ended_at=None).exists() and time.monotonic() < until:  # the site is done with it
        time.sleep(0.02)
    (found,) = (row.split()[3:5] for row in limits if row.startswith("Max cpu time"))
    # a quarter of the push budget, the part that the first push reserves
    assert found == [str(min(MAX_CPU_SECONDS, settings.TEAM_PUSH_SECONDS // 4))] * 2
