"""A real git client, and a real server for it."""

from __future__ import annotations

import base64
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from accounts.models import User
from accounts.services import issue_token
from competitions.models import Entry
from tests.ports import free_port

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Alice"), ("EMAIL", "alice@example.org"))
}
ALONE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}


@dataclass(frozen=True)
class Arena:
    """The site under test: address, process, repositories and exchange folder."""

    address: str
    process: subprocess.Popen[bytes]
    repositories: Path
    temporary: Path

    def url(self, token: str, place: str = "owls/model") -> str:
        """Return the address of a repository with `token`."""
        return f"http://me:{token}@{self.address}/git/{place}.git"

    def start_push(self, token: str, length: int, place: str = "owls/model") -> http.client.HTTPConnection:
        """Start a push by hand: its body is announced but not sent."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.putrequest("POST", f"/git/{place}.git/git-receive-pack")
        connection.putheader("Authorization", f"Basic {base64.b64encode(f'me:{token}'.encode()).decode()}")
        connection.putheader("Content-Type", "application/x-git-receive-pack-request")
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        return connection

    def left_behind(self) -> list[str]:
        """Return everything that only a push in progress may have: folders, quarantine, processes."""
        files = [*self.temporary.glob("gauntlet-push-*"), *self.repositories.glob("*/objects/tmp_objdir-*")]
        return [str(file) for file in files] + list(self.working().values())

    def working(self) -> dict[int, str]:
        """Return the processes that work for a push, by number."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if f"GAUNTLET_SOCKET={self.temporary}/".encode() in (place / "environ").read_bytes():
                    found[int(place.name)] = (place / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
        return found

    def settled(self) -> list[str]:
        """Return what is left after everything had time to end."""
        until = time.monotonic() + 60  # a busy host
        while self.left_behind() and time.monotonic() < until:
            time.sleep(0.02)
        return self.left_behind()


def _database() -> str:
    given = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{given['NAME']}"
    return f"postgresql://{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT']}/{given['NAME']}"


@pytest.fixture(scope="session")
def _arena(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Arena]:
    folder, temporary = tmp_path_factory.mktemp("arena"), Path("/tmp") / f"g{os.getpid()}"
    temporary.mkdir()
    port = free_port()
    own = {
        "DATABASE_URL": _database(),
        "GAUNTLET_STATE": str(folder),
        "DJANGO_SETTINGS_MODULE": "arena_settings",
        "TMPDIR": str(temporary),
    }
    here = Path(__file__).parent
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--worker-class=gthread",
        "--threads=16",
        "--preload",
        "--no-control-socket",
    ]
    options = [f"--bind=127.0.0.1:{port}", "--pythonpath", f"{root},{root / 'platform'},{here}", "config.wsgi"]
    log = (folder / "log").open("wb")
    with log, subprocess.Popen([*command, *options], cwd=folder, env=os.environ | own, stderr=log) as process:
        while True:
            assert process.poll() is None, (folder / "log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield Arena(f"127.0.0.1:{port}", process, folder / "repositories", temporary)
        process.terminate()
    shutil.rmtree(temporary)


@pytest.fixture
def arena(_arena: Arena, transactional_db: None, settings: Settings, entry: Entry) -> Iterator[Arena]:
    """The site with the Owls' entry; the repositories belong to this test."""
    settings.REPOSITORIES = _arena.repositories
    yield _arena
    shutil.rmtree(_arena.repositories, ignore_errors=True)


class Copy:
    """A working copy, and git in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a git process."""
        return subprocess.Popen(
            ["git", *words],
            cwd=self.folder,
            env=os.environ | IDENTITY | ALONE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def git(self, *words: str) -> str:
        """Return git's output; it must succeed."""
        status, text = self.ask(*words)
        assert status == 0, text
        return text.strip()

    def ask(self, *words: str) -> tuple[int, str]:
        """Return git's exit status and all its output."""
        with self.start(*words) as process:
            out, err = process.communicate(timeout=60)
        return process.returncode, out + err

    def commit(self, files: dict[str, str | bytes], message: str = "work") -> str:
        """Commit `files`; return the new commit."""
        for name, content in files.items():
            (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="session")
def _first_copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A working copy with one commit, made once."""
    made = Copy(tmp_path_factory.mktemp("copy"))
    made.git("init", "--quiet", "--initial-branch=main")
    made.commit({"main.py": "print('plays')\n"})
    return made


@pytest.fixture
def copy(_first_copy: Copy, tmp_path: Path) -> Copy:
    """Alice's working copy with one commit."""
    return Copy(shutil.copytree(_first_copy.folder, tmp_path / "copy"))


def token_of(user: User, scopes: Sequence[str] = ("read", "submit")) -> str:
    """Return a new access token of `user`."""
    return issue_token(user=user, name="laptop", scopes=scopes, days=7)[1]


@pytest.fixture
def token(alice: User) -> str:
    """A token of Alice with all scopes."""
    return token_of(alice)
