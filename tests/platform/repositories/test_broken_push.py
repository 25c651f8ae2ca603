"""An interrupted push leaves no ref, no file and no process behind, at any point."""

from __future__ import annotations

import hashlib
import http.client
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol

import pytest

from core.models import Event
from repositories.git_command import HOOKS

WAIT = b"you have 2 clones or pushes in progress; wait for one to finish, then try again\n"


class Site(Protocol):
    """`Arena` of the conftest."""

    address: str
    process: subprocess.Popen[bytes]
    repositories: Path
    temporary: Path

    def url(self, token: str, place: str = "owls/model") -> str: ...
    def start_push(self, token: str, length: int) -> http.client.HTTPConnection: ...
    def settled(self) -> list[str]: ...
    def working(self) -> dict[int, str]: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    folder: Path

    def git(self, *words: str) -> str: ...
    def start(self, *words: str) -> subprocess.Popen[str]: ...
    def ask(self, *words: str) -> tuple[int, str]: ...
    def commit(self, files: dict[str, str | bytes], message: str = "work") -> str: ...


def soon(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60  # a busy host
    while not what():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.01)


def commands(copy: WorkingCopy) -> bytes:
    line = f"{'0' * 40} {copy.git('rev-parse', 'HEAD')} refs/heads/main\0report-status".encode()
    return f"{len(line) + 4:04x}".encode() + line + b"0000"


def pack(copy: WorkingCopy) -> bytes:
    done = subprocess.run(
        ["git", "pack-objects", "--all", "--stdout", "-q"], cwd=copy.folder, input=b"", capture_output=True, check=True
    )
    return done.stdout


def nothing_happened(arena: Site, copy: WorkingCopy, token: str) -> bool:
    return copy.git("ls-remote", arena.url(token)) == "" and not Event.objects.filter(verb="pushed").exists()


@pytest.mark.parametrize("stage", ["before anything", "before the pack", "in mid-pack"])
def test_it_rejects_half_a_push(arena: Site, copy: WorkingCopy, token: str, stage: str) -> None:
    copy.commit({"weights": os.urandom(1 << 20)})
    whole = commands(copy) + pack(copy)
    sent = {"before anything": 0, "before the pack": len(commands(copy)), "in mid-pack": len(whole) // 2}[stage]
    connection = arena.start_push(token, len(whole))
    connection.send(whole[:sent])
    if sent:
        soon(lambda: bool(arena.working()))
    connection.close()
    assert arena.settled() == []
    assert nothing_happened(arena, copy, token)


def test_it_rejects_a_third_concurrent_push_of_one_user(arena: Site, copy: WorkingCopy, token: str) -> None:
    with closing(arena.start_push(token, 4096)) as first, closing(arena.start_push(token, 4096)) as second:
        first.send(b"0" * 1024)
        second.send(b"0" * 1024)
        soon(lambda: len(list(arena.temporary.glob("gauntlet-push-*"))) == 2)
        with closing(arena.start_push(token, 4096)) as third:
            answer = third.getresponse()
            assert (answer.status, answer.headers["Retry-After"]) == (503, "30")
            assert answer.read() == b"Gauntlet: " + WAIT
        status, said = copy.ask("push", arena.url(token), "main")
        assert (status, f"remote: Gauntlet: {WAIT.decode()}" in said) == (128, True), said
    assert arena.settled() == []
    soon(lambda: copy.ask("push", arena.url(token), "main")[0] == 0)  # each frees its place after its files


def test_a_client_killed_during_pre_receive_has_pushed_all_or_nothing(
    arena: Site, copy: WorkingCopy, token: str
) -> None:
    with copy.start("push", arena.url(token), "main:slow") as push:
        soon(lambda: Event.objects.filter(verb="asked").exists())
        push.kill()
    assert arena.settled() == []
    recorded = Event.objects.filter(verb="pushed").exists()
    assert (copy.git("ls-remote", arena.url(token)) != "") or not recorded


@pytest.mark.parametrize("victim", ["http-backend", "receive-pack"])
def test_it_rejects_a_push_whose_git_dies(arena: Site, copy: WorkingCopy, token: str, victim: str) -> None:
    whole = commands(copy) + pack(copy)
    connection = arena.start_push(token, len(whole))
    connection.send(whole[:-10])
    soon(lambda: any(victim in what for what in arena.working().values()))
    for number, what in arena.working().items():
        if victim in what:
            os.kill(number, signal.SIGKILL)
    connection.close()
    assert arena.settled() == []
    assert nothing_happened(arena, copy, token)


def test_leftovers_of_a_killed_server_are_removed_by_the_next_push(arena: Site, copy: WorkingCopy, token: str) -> None:
    copy.git("push", arena.url(token), "main")
    left = next(arena.repositories.glob("*.git")) / "objects" / "tmp_objdir-incoming-abc"
    left.mkdir()
    copy.git("push", arena.url(token), "main:again")
    assert not left.exists()


def test_locks_of_a_killed_git_reject_no_push(arena: Site, copy: WorkingCopy, token: str) -> None:
    """Git never takes a lock that a file holds: no push would change the branch, and no branch could be deleted."""
    copy.git("push", arena.url(token), "main", "main:old")
    repository = next(arena.repositories.glob("*.git"))
    for name in ("HEAD.lock", "packed-refs.lock", "packed-refs.new", "refs/heads/main.lock"):
        (repository / name).touch()
    copy.commit({"main.py": "print('plays better')\n"})
    copy.git("push", arena.url(token), "main", ":old")
    assert len(copy.git("ls-remote", "--heads", arena.url(token)).splitlines()) == 1


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("pre-receive", "Nothing was recorded. Please push again."),
        ("post-receive", "Your push is stored. See your team's page in a minute."),
    ],
)
def test_a_hook_without_a_site_reports_what_happened_to_the_push(tmp_path: Path, hook: str, words: str) -> None:
    own = {"GAUNTLET_PYTHON": sys.executable, "GAUNTLET_SOCKET": str(tmp_path / "gone")}
    done = subprocess.run([HOOKS / hook], env=os.environ | own, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"Gauntlet: the site does not answer. {words}\n")


def test_a_large_push_needs_little_memory(arena: Site, copy: WorkingCopy, token: str) -> None:
    copy.git("push", arena.url(token), "main")
    before = peak_memory(arena)
    copy.commit({"weights": os.urandom(30 << 20)})
    copy.git("-c", "core.compression=0", "push", arena.url(token), "main")
    assert peak_memory(arena) - before < 10 << 20


def expanding(size: int) -> tuple[bytes, bytes]:
    """Return the commands and the pack of a push whose delta expands a small file to `size` times 16 MiB."""
    small = bytes(16 << 20)
    copies = (b"\xf0" + b"\xff" * 3) * size
    delta = length(len(small)) + length(size * 0xFFFFFF) + copies
    name = hashlib.sha1(b"blob %d\0" % len(small) + small, usedforsecurity=False).digest()
    objects = [head(3, len(small)) + zlib.compress(small), head(7, len(delta)) + name + zlib.compress(delta)]
    whole = b"PACK" + struct.pack(">II", 2, 2) + b"".join(objects)
    line = f"{'0' * 40} {name.hex()} refs/heads/main\0report-status side-band-64k".encode()
    return f"{len(line) + 4:04x}".encode() + line + b"0000", whole + hashlib.sha1(whole, usedforsecurity=False).digest()


def head(kind: int, size: int) -> bytes:
    return bytes([kind << 4 | size & 15 | 128]) + length(size >> 4)


def length(number: int) -> bytes:
    return bytes([number & 127 | 128]) + length(number >> 7) if number > 127 else bytes([number])


def test_it_rejects_a_few_kilobytes_that_expand_to_gigabytes(arena: Site, copy: WorkingCopy, token: str) -> None:
    start, deltas = expanding(96)
    with closing(arena.start_push(token, len(start) + len(deltas))) as connection:
        connection.send(start + deltas)
        said = connection.getresponse().read()
    assert b"fatal: Out of memory" in said, said
    assert b"refs/heads/main unpacker error" in said
    assert len(deltas) < 20_000
    assert arena.settled() == []
    assert nothing_happened(arena, copy, token)


def peak_memory(arena: Site) -> int:
    """Return the peak memory of the site's worker, in bytes."""
    children = Path(f"/proc/{arena.process.pid}/task/{arena.process.pid}/children").read_text().split()
    status = Path(f"/proc/{children[0]}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10
