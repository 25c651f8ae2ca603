"""A few accounts that hold connections open do not block the pushes and clones of others."""

from __future__ import annotations

import http.client
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Protocol

import pytest

from accounts.models import Membership, Team, User
from accounts.services import issue_token
from competitions.models import Entry

PROMISED = 500_000_000
ACCOUNTS = 4


class Site(Protocol):
    """`Arena` of the conftest."""

    repositories: Path
    temporary: Path

    def url(self, token: str, place: str = "owls/model") -> str: ...
    def start_push(self, token: str, length: int, place: str) -> http.client.HTTPConnection: ...
    def settled(self) -> list[str]: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    def git(self, *words: str) -> str: ...


def soon(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60  # a busy host
    while not what():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.01)


@pytest.fixture
def connections(arena: Site, entry: Entry) -> Iterator[list[http.client.HTTPConnection]]:
    """Eight started pushes of four accounts with a team each; only the headers are sent."""
    with ExitStack() as held:
        begun = []
        for number in range(ACCOUNTS):
            user = User.objects.create_user(username=f"mallory{number}")
            team = Team.objects.create(slug=f"t{number}", name=f"Team {number}", created_at=entry.joined_at)
            Membership.objects.create(team=team, user=user, role="captain", joined_at=entry.joined_at)
            Entry.objects.create(team=team, competition=entry.competition, joined_at=entry.joined_at)
            token = issue_token(user=user, name="laptop", scopes=["submit"], days=7)[1]
            begun += [held.enter_context(closing(arena.start_push(token, PROMISED, f"t{number}/model"))) for _ in "12"]
        yield begun
    assert arena.settled() == []


def answered(connections: list[http.client.HTTPConnection]) -> int:
    return len(select.select([each.sock for each in connections], [], [], 0)[0])


def pushes_at_work(arena: Site) -> int:
    return len(list(arena.temporary.glob("gauntlet-push-*")))


@pytest.fixture
def trickling(connections: list[http.client.HTTPConnection]) -> Iterator[None]:
    """Send a few bytes on each of the connections at intervals."""
    over = threading.Event()

    def trickle() -> None:
        while not over.wait(0.2):
            for each in connections:
                with suppress(OSError):  # it was rejected
                    each.send(b"0")

    slow = threading.Thread(target=trickle)
    slow.start()
    yield
    over.set()
    slow.join()


@pytest.mark.usefixtures("trickling")
def test_slow_pushes_leave_room_for_other_teams(
    arena: Site, copy: WorkingCopy, token: str, connections: list[http.client.HTTPConnection], tmp_path: Path
) -> None:
    soon(lambda: pushes_at_work(arena) + answered(connections) == len(connections))
    copy.git("push", arena.url(token), "main")
    copy.git("clone", arena.url(token), str(tmp_path / "clone"))
    assert pushes_at_work(arena) >= ACCOUNTS, "each of the others has one under way, and goes on"


def test_silent_connections_cost_others_no_permit(
    arena: Site, copy: WorkingCopy, token: str, connections: list[http.client.HTTPConnection], tmp_path: Path
) -> None:
    copy.git("push", arena.url(token), "main")
    copy.git("clone", arena.url(token), str(tmp_path / "clone"))
    assert pushes_at_work(arena) == 0, "no git waits for them"
    # when all have arrived, the oldest ones are dropped
    soon(lambda: copy.git("ls-remote", arena.url(token)) != "" and answered(connections) > 0)


def test_own_silent_connections_block_no_push(arena: Site, copy: WorkingCopy, token: str) -> None:
    with ExitStack() as held:
        idle = [held.enter_context(closing(arena.start_push(token, PROMISED, "owls/model"))) for _ in range(3)]
        soon(lambda: answered(idle) > 0)
        copy.git("push", arena.url(token), "main")
    assert arena.settled() == []
