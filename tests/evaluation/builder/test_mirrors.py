"""What builds may reach of the network: pure rules, and the proxy over real sockets."""

from __future__ import annotations

import base64
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.image_recipe import operator_files
from evaluation.builder.mirror_proxy import SOCKET_NAME, MirrorProxy
from evaluation.builder.mirrors import Mirror, Reach, mirrored

SECRET = "Basic " + base64.b64encode(b"site:s3cr3t").decode()


def mirror(url: str) -> Mirror:
    mirrors: list[Mirror] = []
    mirrored(url, mirrors)
    return mirrors[0]


def test_a_build_knows_no_password_of_a_mirror() -> None:
    settings = BuildSettings(
        index_url="https://site:s3cr3t@mirror.example:8443/team/simple",
        extra_index_url="https://plain.example/simple https://site:s3cr3t@other.example/pypi",
    )

    known, reach = settings.reach()

    assert known.index_url == "http://127.0.0.1:3128/mirror/0/team/simple"
    assert known.extra_index_url == "http://127.0.0.1:3128/mirror/1/simple http://127.0.0.1:3128/mirror/2/pypi"
    assert [each.authorization for each in reach.mirrors] == [SECRET, "", SECRET]
    assert reach.mirrors[0].origin == "https://mirror.example:8443"
    sent = [entry.content for entry in operator_files(known)]
    assert not any(b"s3cr3t" in content for content in sent if isinstance(content, bytes))
    assert all("s3cr3t" not in value for _, value in known.mirror_arguments())


def test_the_public_index_is_needed_unless_a_mirror_replaces_it() -> None:
    _, beside = BuildSettings(extra_index_url="https://plain.example/simple").reach()
    _, links = BuildSettings(find_links="https://plain.example/wheels/").reach()
    _, instead = BuildSettings(index_url="https://plain.example/simple").reach()

    assert beside.needed == links.needed == {"https://plain.example", "pypi.org", "files.pythonhosted.org"}
    assert instead.needed == {"https://plain.example"}


def test_builds_reach_the_hosts_that_are_set_or_the_public_indexes() -> None:
    _, public = BuildSettings().reach()
    _, own = BuildSettings(hosts=("weights.example",), index_url="https://plain.example/simple").reach()

    assert public.allows("PyPI.org.")
    assert public.needed == {"pypi.org", "files.pythonhosted.org"}
    assert own.allows("weights.example")
    assert own.needed == {"https://plain.example"}
    for host in ("pypi.org", "plain.example", "attacker.example", "127.0.0.1", "weights.example.attacker.example"):
        assert not own.allows(host)


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("/team/simple/numpy/", True),
        ("/team/packages/numpy.whl?x=1", True),
        ("/secrets/", False),
        ("/team/../secrets/", False),
        ("/team/%2e%2e/secrets/", False),
        ("/team//simple/", False),
        ("/teammate/", False),
        ("/team", True),
        ("/", False),
    ],
)
def test_a_mirrors_password_opens_its_own_folder_alone(path: str, covered: bool) -> None:
    for name in ("simple", "+simple/"):
        assert mirror(f"https://site:s3cr3t@mirror.example/team/{name}").covers(path) is covered


@pytest.mark.parametrize(
    ("link", "inside"),
    [
        ("https://pypi.lab/files/x.whl", "http://127.0.0.1:3128/mirror/0/files/x.whl"),
        ("https://pypi.lab", "http://127.0.0.1:3128/mirror/0"),
        ("/files/x.whl#sha256=1", "http://127.0.0.1:3128/mirror/0/files/x.whl#sha256=1"),
        ("../../files/x.whl", "../../files/x.whl"),
        ("//other.example/x.whl", "//other.example/x.whl"),
        ("https://pypi.lab.example/x.whl", "https://pypi.lab.example/x.whl"),
        ("https://pypi.lab:8443/x.whl", "https://pypi.lab:8443/x.whl"),
        ("https://other.example/?from=https://pypi.lab/", "https://other.example/?from=https://pypi.lab/"),
    ],
)
def test_links_of_an_index_lead_to_the_proxy_if_they_lead_to_the_mirror(link: str, inside: str) -> None:
    """Indexes differ: PyPI names its own host, pypiserver the path from the root."""
    index = mirror("https://pypi.lab/simple/")
    assert index.local_link(link) == inside
    for page in (
        '<a href="{}">x.whl</a>', "<A data-x='/y' HREF = '{}'>x.whl</A>", "<a href={}>/x.whl</a>",
        '{{"files":[{{"filename":"/x.whl","url":"{}"}}]}}', '{{"url" : "{}", "hashes": {{}}}}',
    ):  # fmt: skip
        assert index.local_page(page.format(link).encode()).decode() == page.format(inside)


class Index(BaseHTTPRequestHandler):
    """A package index that asks for a password."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == SECRET
        if self.path == "/team/simple/odd":
            self.send_error(500)
            return
        page = f'<a href="http://{self.headers["Host"]}/team/files/x.whl">x</a>'.encode() if known else b"who are you?"
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        """Nothing."""


@pytest.fixture
def index() -> Iterator[str]:
    """The address of a real index on this host, without a password."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def ask(proxy: MirrorProxy, request: str) -> tuple[int, str]:
    """Send `METHOD PATH` over the proxy's socket; status and body."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(proxy.directory / SOCKET_NAME))
        connection.settimeout(10)
        connection.sendall(f"{request} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.read().decode()


def test_the_proxy_gives_the_password_and_keeps_links_on_its_own_address(index: str) -> None:
    settings = BuildSettings(index_url=f"http://site:s3cr3t@{index}/team/simple")
    with MirrorProxy(settings.reach()[1]) as proxy:
        assert ask(proxy, "GET /mirror/0/team/simple/x/") == (
            200,
            '<a href="http://127.0.0.1:3128/mirror/0/team/files/x.whl">x</a>',
        )
        assert list(proxy.notices()) == []


def test_a_build_uses_no_password_of_the_sites_user(
    index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login site password s3cr3t\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with MirrorProxy(BuildSettings(index_url=f"http://{index}/team/simple").reach()[1]) as proxy:
        assert ask(proxy, "GET /mirror/0/team/simple/x/") == (401, "who are you?")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login site password another\n")
    with MirrorProxy(BuildSettings(index_url=f"http://site:s3cr3t@{index}/team/simple").reach()[1]) as proxy:
        assert ask(proxy, "GET /mirror/0/team/simple/x/")[0] == 200


@pytest.mark.parametrize(
    "request_line",
    [
        "CONNECT 127.0.0.1:6379",
        "CONNECT pypi.org:22",
        "CONNECT attacker.example:443",
        "GET http://169.254.169.254/latest/meta-data/",
        "GET http://127.0.0.1:5432/",
        "GET http://deb.debian.org:8080/",
        "GET file:///etc/passwd",
        "GET /mirror/0/secrets/",
        "GET /mirror/1/team/simple/",
        "GET /",
    ],
)
def test_the_proxy_refuses_what_is_no_mirror_and_says_so_once(index: str, request_line: str) -> None:
    settings = BuildSettings(index_url=f"http://site:s3cr3t@{index}/team/simple")
    with MirrorProxy(settings.reach()[1]) as proxy:
        status, text = ask(proxy, request_line)
        ask(proxy, request_line)

        assert status == 403
        assert "is not a package mirror" in text
        assert len(list(proxy.notices())) == 1


def test_a_mirror_that_is_away_is_named_without_its_address(tmp_path: Path) -> None:
    settings = BuildSettings(index_url="http://site:s3cr3t@127.0.0.1:9/team/simple")
    with MirrorProxy(settings.reach()[1]) as proxy:
        status, text = ask(proxy, "GET /mirror/0/team/simple/")
        assert proxy.unreachable_mirrors() == ["http://127.0.0.1:9"]

    assert status == 502
    assert text == "the mirror is unreachable (ConnectionError)\n"


def test_a_mirror_that_answers_is_not_away_whatever_a_build_asks_it(index: str) -> None:
    settings = BuildSettings(index_url=f"http://site:s3cr3t@{index}/team/simple")
    with MirrorProxy(settings.reach()[1]) as proxy:
        status, _ = ask(proxy, "GET /mirror/0/team/simple/odd")
        assert status == 500
        assert proxy.unreachable_mirrors() == []


def test_a_mirror_that_takes_requests_and_does_not_answer_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.builder.mirror_proxy._PROBE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        origin = f"http://127.0.0.1:{hung.getsockname()[1]}"
        settings = BuildSettings(index_url=f"{origin}/simple")
        with MirrorProxy(settings.reach()[1]) as proxy:
            assert proxy.unreachable_mirrors() == [], "the build did not ask it"
            with socket.socket(socket.AF_UNIX) as build:
                build.connect(str(proxy.directory / SOCKET_NAME))
                build.sendall(b"GET /mirror/0/simple/ HTTP/1.1\r\n\r\n")
                asked, _ = hung.accept()
            with asked:
                assert proxy.unreachable_mirrors() == [origin]


def test_an_index_that_does_not_answer_through_a_tunnel_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.builder.mirror_proxy._PROBE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        monkeypatch.setattr("evaluation.builder.mirror_proxy._TLS_PORT", hung.getsockname()[1])
        monkeypatch.setattr("evaluation.builder.mirrors._PUBLIC_INDEX", ("localhost",))
        with MirrorProxy(Reach(frozenset({"localhost"}))) as proxy:
            with socket.socket(socket.AF_UNIX) as build:
                build.connect(str(proxy.directory / SOCKET_NAME))
                build.sendall(f"CONNECT localhost:{hung.getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
                remote, _ = hung.accept()
                build.sendall(b"the beginning of TLS")
                assert remote.recv(100) == b"the beginning of TLS"
            with remote:
                assert remote.recv(1) == b"", "the tunnel ends with the build's connection"
                deadline = time.monotonic() + 10
                while not (away := proxy.unreachable_mirrors()) and time.monotonic() < deadline:
                    time.sleep(0.01)
    assert away == ["localhost"]


def test_tunnels_lead_to_allowed_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr("evaluation.builder.mirror_proxy._TLS_PORT", server.getsockname()[1])
        with MirrorProxy(Reach(frozenset({"localhost"}))) as proxy, socket.socket(socket.AF_UNIX) as build:
            build.connect(str(proxy.directory / SOCKET_NAME))
            build.sendall(f"CONNECT localhost:{server.getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
            remote, _ = server.accept()
            with remote:
                assert build.recv(4096).startswith(b"HTTP/1.0 200 ")
                build.sendall(b"hello")
                assert remote.recv(5) == b"hello"
                remote.sendall(b"world")
                assert build.recv(5) == b"world"
