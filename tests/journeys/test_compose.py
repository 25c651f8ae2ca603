"""`compose.yaml` starts a whole site: a push over TLS gets its score in the Docker sandbox.

Builder and player are those of a worker host (`compose.worker.yaml`), which joins and shares no folder with the server.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import requests

from demo.git_push import push_copy
from demo.web_client import WebClient
from tests.journeys.sites import networks_of_host
from tests.ports import free_port

pytestmark = [pytest.mark.docker, pytest.mark.slow(150), pytest.mark.timeout(1800)]

DEBIANS_CLIENT = Path("/usr/bin/docker")
"""It builds with BuildKit without a plugin."""
DOCKER = str(DEBIANS_CLIENT) if DEBIANS_CLIENT.exists() else "docker"
COMPOSE = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
OWN = ("web", "worker")
"""Images of the Dockerfile; the others stand for those that cannot be pulled here."""
SLOW_CLIENTS = 80
"""More than the web server has threads."""


class Server:
    """The services of compose.yaml under a name of their own, on images that are built on the base image."""

    def __init__(self, root: Path, folder: Path, shared_folder: Path) -> None:
        self._root = root
        self._shared = shared_folder
        self._name = f"gauntlet-{os.getpid()}"
        self.port = free_port()
        self.url = f"https://localhost:{self.port}"
        self.certificate = folder / "root.crt"
        self.directory, self.of_host = folder / "site", folder / "host"
        base = os.environ.get("GAUNTLET_BASE_IMAGE") or "gauntlet-base:latest"
        self._images = {name: f"gauntlet-test-{name}" for name in (*OWN, "database", "broker", "proxy", "objects")}
        self._environment = os.environ | {
            f"GAUNTLET_{name.upper()}_IMAGE": image for name, image in self._images.items()
        }
        self._environment |= {
            "DOCKER_BUILDKIT": "1", "GAUNTLET_BASE_IMAGE": base, "GAUNTLET_DIRECTORY": str(self.directory),
            "GAUNTLET_DOMAIN": "localhost", "GAUNTLET_PROXY_OPTIONS": "skip_install_trust",
            "GAUNTLET_HTTP_PORT": f"127.0.0.1:{free_port()}", "GAUNTLET_HTTPS_PORT": f"127.0.0.1:{self.port}",
            "GAUNTLET_PRIVATE_ADDRESS": "127.0.0.1",
            **{f"GAUNTLET_{name}_PORT": str(free_port()) for name in ("DATABASE", "BROKER", "OBJECTS")},
        }  # fmt: skip
        for name in ("compose.yaml", "compose.hosts.yaml", "compose.worker.yaml"):
            # the first versions of Compose that know all the rest have no key for the name
            text = (root / name).read_text(encoding="utf-8")
            (folder / name).write_text(re.sub(r"^name:.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
        self._folder = folder
        self._base = base

    def build(self) -> None:
        """Build the images of the site, and those of services that cannot be pulled here."""
        on = ["--network", "host", "--build-arg", f"SYSTEM={self._base}", "--build-arg", f"BASE={self._base}"]
        for name, image in self._images.items():
            of = [] if name in OWN else ["--file", ".ci/services.Dockerfile"]
            self._run(DOCKER, "build", "--quiet", *on, *of, "--target", name, "--tag", image, ".ci" if of else ".")

    def compose(self, *arguments: str) -> str:
        """Return what a command of Compose on the server printed. Fail where it fails."""
        files = ["--file", str(self._folder / "compose.yaml"), "--file", str(self._folder / "compose.hosts.yaml")]
        options = ["--project-directory", ".", "--project-name", self._name]
        return self._run(*COMPOSE, *options, *files, *arguments)

    def compose_host(self, *arguments: str) -> str:
        """Return what a command of Compose on the worker host printed. Fail where it fails."""
        self._environment["GAUNTLET_CERTIFICATES"] = str(self.of_host / "root.crt")
        own = self._environment | {"GAUNTLET_DIRECTORY": str(self.of_host)}
        file = ["--file", str(self._folder / "compose.worker.yaml")]
        options = ["--project-directory", ".", "--project-name", f"{self._name}-host"]
        return self._run(*COMPOSE, *options, *file, *arguments, environment=own)

    def start(self) -> None:
        """Start everything, and trust the certificate authority that the proxy makes for itself."""
        with networks_of_host(self._shared):
            self.compose("up", "--no-build", "--detach", "--scale", "builder=0", "--scale", "player=0")
        authority = "/data/caddy/pki/authorities/local/root.crt"
        wait = f"until test -s {authority}; do sleep 0.2; done; cat {authority}"
        self.certificate.write_text(self.execute("proxy", "timeout", "60", "sh", "-c", wait))

    def start_host(self) -> None:
        """Let a worker host join with the key that the site gives, and start its workers."""
        key = self.manage("invite_host", "host-2").split()[-1]
        self.of_host.mkdir()
        shutil.copy(self.certificate, self.of_host)
        (self.of_host / self.certificate.name).chmod(0o644)
        joined = self.compose_host("run", "--rm", "player", "python", "manage.py", "join", self.url, key)
        assert f"this host is host-2 of {self.url}" in joined
        assert "problem" not in joined, joined
        self.compose_host("up", "--no-build", "--detach")

    def stop(self) -> None:
        """Print the ends of the logs, and remove everything but the images."""
        for compose in (self.compose_host, self.compose):
            sys.stdout.write(compose("logs", "--no-color", "--tail", "30"))  # shown where the test fails
            with networks_of_host(self._shared):
                compose("down", "--volumes", "--timeout", "5")

    def ports(self) -> str:
        """Return the ports of all services, with those of this host that lead to them."""
        mine = f"label=com.docker.compose.project={self._name}"
        return self._run(DOCKER, "ps", "--filter", mine, "--format", "{{.Ports}}")

    def manage(self, *arguments: str, given: Path | None = None) -> str:
        """Return what a command of `manage.py` printed."""
        return self.execute("web", "python", "manage.py", *arguments, given=given)

    def findings(self) -> str:
        """Return what `manage.py doctor` printed, whatever it found."""
        return self.execute("web", "sh", "-c", "python manage.py doctor || true")

    def execute(
        self, service: str, *command: str, given: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> str:
        """Return what a command in the container of a service printed. Fail where it fails."""
        labels = {"project": self._name, "service": service}
        filters = [f"--filter=label=com.docker.compose.{key}={value}" for key, value in labels.items()]
        (container,) = self._run(DOCKER, "ps", "--quiet", *filters).split()
        options = [f"--env={name}={value}" for name, value in (variables or {}).items()]
        return self._run(DOCKER, "exec", "--interactive", *options, container, *command, given=given)

    def _run(self, *command: str, given: Path | None = None, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            command, cwd=self._root, env=environment or self._environment, input=given.read_text() if given else "",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout


@pytest.fixture
def server(root: Path, shared_folder: Path) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="server-"))  # short: paths of sockets are in it
    made = Server(root, folder, shared_folder)
    made.build()
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)


def test_one_command_starts_a_site_that_scores_a_push_over_tls(
    server: Server, root: Path, monkeypatch: pytest.MonkeyPatch, wait: Callable[..., None]
) -> None:
    server.start()
    server.start_host()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(server.certificate))
    monkeypatch.setenv("GIT_SSL_CAINFO", str(server.certificate))
    assert "imported small" in server.manage(
        "competition", "import", "/dev/stdin", given=root / "tests" / "journeys" / "small.toml"
    )
    team = WebClient(server.url)
    team.register("robin", "a long password 1")
    team.make_team("small", "robins", "Robins")
    address = server.url.replace("//", f"//robin:{team.make_token('laptop')}@") + "/git/robins/untargeted.git"
    assert "received" in push_copy("gaussian-noise", address, author="robin").output

    def is_scored() -> bool:
        return "Robins" in requests.get(f"{server.url}/competitions/small/leaderboards/untargeted", timeout=30).text

    wait("the score", is_scored, seconds=300)

    # all of it on the worker host, which has nothing of the server's but the commit that it fetched
    assert not {"repositories", "objects"} & {path.name for path in server.of_host.glob("site/*")}
    assert list((server.of_host / "site" / "checkouts").iterdir())
    assert not list(server.directory.glob("site/checkouts/[0-9]*")), "the server has built or played"
    assert not (server.directory / "site" / "objects").exists()

    # beat sends the first task of each queue within half a minute of its start; until then `doctor` finds no worker
    wait("a task of each queue", lambda: "no worker has taken" not in server.findings(), seconds=90)
    doctor = server.manage("doctor")
    assert "problem" not in doctor, doctor
    # 1. the web server, which strangers talk to, has neither the engine nor what players need, and Debian's libpq
    assert server.execute("web", "sh", "-c", "ls /var/run/docker.sock 2>&1 || true").startswith("ls:")
    look = "import importlib.util, psycopg2; print(importlib.util.find_spec('torch'), *open('/proc/self/maps'))"
    seen = server.execute("web", "python", "-c", look)
    assert seen.startswith("None ")
    libraries = set(re.findall(r"\S+/libpq\S+", seen))
    assert libraries
    assert all(each.startswith("/usr/lib/") for each in libraries), libraries
    # 2. only the proxy listens outside, and for hosts what they share
    assert set(re.findall(r"->(\d+)/tcp", server.ports())) == {"80", "443", "5432", "6379", "8333"}
    # 3. clients that send a form more slowly than anybody types hold no thread of the web server
    slow = [slow_post(server) for _ in range(SLOW_CLIENTS)]
    assert requests.get(server.url, timeout=20).ok
    for connection in slow:
        connection.close()
    # 4. a backup has what pg_dump reads
    kept = {"RESTIC_REPOSITORY": f"{server.directory}/backups", "RESTIC_PASSWORD": "a password"}
    server.execute("web", "restic", "init", variables=kept)
    assert server.execute("web", "python", "manage.py", "backup", variables=kept).startswith("snapshot ")
    # 5. the same command again changes nothing
    password = server.execute("broker", "cat", "/secrets/broker-password")
    server.start()
    assert server.execute("broker", "cat", "/secrets/broker-password") == password
    assert is_scored()


def slow_post(server: Server) -> ssl.SSLSocket:
    """Begin a POST whose body never comes, with all that makes Django read it."""
    trust = ssl.create_default_context(cafile=str(server.certificate))
    connection = trust.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost")
    head = [
        *("POST /accounts/login/ HTTP/1.1", "Host: localhost", "Origin: https://localhost"),
        *(f"Cookie: csrftoken={'a' * 32}", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 1000"),
    ]
    connection.sendall("\r\n".join([*head, "", "login"]).encode())
    return connection
