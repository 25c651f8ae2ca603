"""Worker hosts without the folder of repositories fetch commits with a credential that opens nothing else."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import pytest
import requests
from pytest_django import Settings

from accounts.models import User
from core.errors import HostFault
from core.site_identity import require_identity
from repositories import commit_source as module
from repositories.checkout import check_out
from repositories.commit_source import commit_source
from repositories.models import Repository
from workers.host_credentials import join, join_key, make_credential, revoke
from workers.models import HostCredential

CERTIFICATE = Path(__file__).parent.parent / "webhooks" / "receiver.pem"
"""A certificate with its key, which git does not trust."""

SHARED = {"DATABASE_URL": "postgresql://gauntlet:secret@database.example/gauntlet"}


class Site(Protocol):
    """`Arena` of the conftest."""

    address: str
    repositories: Path

    def url(self, token: str, place: str = "owls/model") -> str: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    def git(self, *words: str) -> str: ...
    def commit(self, files: dict[str, str | bytes], message: str = "work") -> str: ...


@pytest.fixture
def root_user(transactional_db: None) -> User:
    return User.objects.create_superuser("root", "", "a long password 1")


@pytest.fixture
def credential(arena: Site, settings: Settings, root_user: User) -> tuple[HostCredential, str]:
    settings.HOST_SETTINGS = lambda: SHARED
    return join(join_key(make_credential(host="gpu-1", by=root_user)))


@pytest.fixture
def pushed(arena: Site, copy: WorkingCopy, token: str) -> tuple[Repository, str, str]:
    """A repository with two commits."""
    first = copy.git("rev-parse", "HEAD")
    second = copy.commit({"main.py": "print('plays better')\n", "weights.bin": bytes(range(256)) * 4096})
    copy.git("push", "--quiet", arena.url(token), "HEAD")
    return Repository.objects.get(), first, second


@pytest.fixture
def elsewhere(arena: Site, credential: tuple[HostCredential, str], settings: Settings, tmp_path: Path) -> Path:
    """Settings of a worker host; its folder."""
    settings.HOST_TOKEN = credential[1]
    settings.SITE_ADDRESS = f"http://{arena.address}"
    settings.REPOSITORIES, settings.CHECKOUTS = tmp_path / "none", tmp_path / "checkouts"
    return tmp_path / "checkouts"


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_host_checks_out_the_commit_that_it_fetches(pushed: tuple[Repository, str, str], elsewhere: Path) -> None:
    repository, first, second = pushed
    for commit, names in ((second, {"main.py", "weights.bin"}), (first, {"main.py"})):
        with commit_source(repository, commit) as source:
            check_out(source, commit, elsewhere / commit)
        assert files_below(elsewhere / commit).keys() == names
    assert files_below(elsewhere / second)["weights.bin"] == bytes(range(256)) * 4096
    assert {path.name for path in elsewhere.iterdir()} == {first, second}, "what was fetched is gone"


def test_the_token_is_in_no_argument_and_no_message(
    pushed: tuple[Repository, str, str], elsewhere: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    seen: list[list[str]] = []
    start = subprocess.Popen

    def record(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        seen.append(command)
        return start(command, **options)

    monkeypatch.setattr("repositories.git_command.subprocess.Popen", record)
    monkeypatch.setattr(module, "_PAUSES", ())
    with pytest.raises(HostFault) as fault, commit_source(pushed[0], "0" * 40):
        pass
    assert settings.HOST_TOKEN not in str(fault.value)
    assert any("fetch" in command for command in seen)
    assert not any(settings.HOST_TOKEN in word for command in seen for word in command)


def test_a_revoked_credential_fetches_nothing_and_takes_the_host_out_of_service(
    pushed: tuple[Repository, str, str],
    elsewhere: Path,
    credential: tuple[HostCredential, str],
    root_user: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_identity()
    revoke(credential=credential[0], by=root_user, reason="It was sold.")
    monkeypatch.setattr(module, "_PAUSES", ())
    with pytest.raises(HostFault, match="cannot be fetched"), commit_source(pushed[0], pushed[1]):
        pass
    with pytest.raises(HostFault, match=r"refuses this host \(401\)"):
        require_identity()


class AnotherSite(BaseHTTPRequestHandler):
    """A site that knows the token, and has an identity of its own."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"identity": "ffffffffffffffffffffffffffffffff"}')

    def log_message(self, *args: object) -> None:
        """Print nothing."""


def test_a_host_serves_neither_a_silent_nor_another_site(elsewhere: Path, settings: Settings) -> None:
    require_identity()
    settings.SITE_ADDRESS = "http://127.0.0.1:9"
    with pytest.raises(HostFault, match="does not answer"):
        require_identity()
    with ThreadingHTTPServer(("127.0.0.1", 0), AnotherSite) as server:
        Thread(target=server.serve_forever).start()
        settings.SITE_ADDRESS = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(HostFault, match="is another site than that of the database"):
            require_identity()
        server.shutdown()


def test_a_fetch_is_tried_again_while_the_web_server_is_away(
    pushed: tuple[Repository, str, str], elsewhere: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, waited = settings.SITE_ADDRESS, []
    settings.SITE_ADDRESS = "http://127.0.0.1:9"

    def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("repositories.commit_source.time.sleep", wait)
    with pytest.raises(HostFault, match="cannot be fetched from http://127"), commit_source(pushed[0], pushed[1]):
        pass
    assert waited == [1.0, 2.0, 5.0, 10.0, 20.0, 30.0]
    settings.SITE_ADDRESS = there
    with commit_source(pushed[0], pushed[1]) as source:
        assert (source / "shallow").exists()


class TlsServer(ThreadingHTTPServer):
    """A server whose certificate clients refuse."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), BaseHTTPRequestHandler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that the client ended."""


def test_without_authorities_of_its_own_a_host_trusts_those_of_its_system(
    pushed: tuple[Repository, str, str], elsewhere: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`compose.worker.yaml` sets an empty variable then, and git would read no file at all."""
    monkeypatch.setattr(module, "_PAUSES", ())
    monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)
    said = []
    with TlsServer() as server:
        Thread(target=server.serve_forever).start()
        settings.SITE_ADDRESS = f"https://127.0.0.1:{server.server_port}"
        for _ in range(2):
            with pytest.raises(HostFault) as fault, commit_source(pushed[0], pushed[1]):
                pass
            said.append(str(fault.value).partition("fatal:")[2])
            monkeypatch.setenv("GIT_SSL_CAINFO", "")
        server.shutdown()
    assert "certificate" in said[0]
    assert said[1] == said[0]


class BusySite(BaseHTTPRequestHandler):
    """Passes requests on to the site at `address`, after it has refused `busy` of them as the site does."""

    address = ""
    busy = 0

    def do_GET(self) -> None:
        if BusySite.busy:
            BusySite.busy -= 1
            self.send_error(503)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = f"http://{self.address}{self.path}"
        answer = requests.request(self.command, url, data=body, headers=dict(self.headers), timeout=60)
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.end_headers()
        self.wfile.write(answer.content)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *args: object) -> None:
        """Print nothing."""


def test_a_fetch_waits_for_its_place_among_those_of_a_cluster(
    pushed: tuple[Repository, str, str], elsewhere: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All slots of a host, or of the jobs of a cluster, have one credential, and two fetches at a time."""
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("repositories.commit_source.time.sleep", wait)
    monkeypatch.setattr(BusySite, "address", settings.SITE_ADDRESS.removeprefix("http://"))
    monkeypatch.setattr(BusySite, "busy", 20)
    with ThreadingHTTPServer(("127.0.0.1", 0), BusySite) as server:
        Thread(target=server.serve_forever).start()
        settings.SITE_ADDRESS = f"http://127.0.0.1:{server.server_port}"
        try:
            with commit_source(pushed[0], pushed[1]) as source:
                assert (source / "shallow").exists()
            monkeypatch.setattr(BusySite, "busy", 1000)
            monkeypatch.setattr(module, "_BUSY_SECONDS", 0.0)
            with pytest.raises(HostFault, match="503"), commit_source(pushed[0], pushed[1]):
                pass
        finally:
            server.shutdown()
    assert len(set(waited[:20])) == 20, "slots that wait do not come together"
    assert waited[20:] == [1.0, 2.0, 5.0, 10.0, 20.0, 30.0]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/git/owls/model.git/info/refs?service=git-upload-pack"),
        ("get", "/git/hosts/1.git/info/refs?service=git-receive-pack"),
        ("post", "/git/hosts/1.git/git-receive-pack"),
        ("get", "/git/hosts/1.git/HEAD"),
    ],
)
def test_the_credential_opens_nothing_else(
    arena: Site, pushed: tuple[Repository, str, str], credential: tuple[HostCredential, str], method: str, path: str
) -> None:
    place = path.replace("/1.git", f"/{pushed[0].pk}.git")
    call: Callable[..., requests.Response] = getattr(requests, method)
    answer = call(f"http://{arena.address}{place}", auth=("host", credential[1]), timeout=30)
    assert answer.status_code in {401, 403}, answer.text


def test_people_do_not_read_as_hosts(arena: Site, pushed: tuple[Repository, str, str], token: str) -> None:
    place = f"http://{arena.address}/git/hosts/{pushed[0].pk}.git/info/refs?service=git-upload-pack"
    for auth in (None, ("alice", token), ("host", ""), ("host", "gth_unknown")):
        assert requests.get(place, auth=auth, timeout=30).status_code == 401


def test_unknown_repositories_are_not_found(arena: Site, credential: tuple[HostCredential, str]) -> None:
    place = f"http://{arena.address}/git/hosts/999999.git/info/refs?service=git-upload-pack"
    assert requests.get(place, auth=("host", credential[1]), timeout=30).status_code == 404
