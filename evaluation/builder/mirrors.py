"""What a build may reach of the network: hosts by name, and mirrors whose credentials stay with the builder. Pure."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

PROXY_PORT = 3128
"""The port, inside a build container, of the proxy."""

PROXY_URL = f"http://127.0.0.1:{PROXY_PORT}"

DEFAULT_HOSTS = (
    "pypi.org", "files.pythonhosted.org",
    "deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com",
    "conda.anaconda.org", "repo.anaconda.com",
)  # fmt: skip
"""The public package indexes of pip, apt and conda."""


@dataclass(frozen=True)
class Mirror:
    """A package mirror that asks for a password; the proxy adds it, and the build knows it as `local_url`.

    Nothing outside `folder` is served: the password may open more than packages.
    """

    number: int
    origin: str
    """Scheme, host and port, such as `https://mirror.example:8443`."""
    folder: str
    """The path, with slashes at both ends, below which the index and its files lie."""
    path: str
    authorization: str
    """The value of the `Authorization` header."""

    @property
    def prefix(self) -> str:
        """What the proxy's paths of this mirror begin with."""
        return f"/mirror/{self.number}"

    @property
    def local_url(self) -> str:
        """The mirror's address inside a build."""
        return f"{PROXY_URL}{self.prefix}{self.path}"

    def covers(self, path: str) -> bool:
        """Whether `path`, as it stands in a request, lies in the folder; nothing with dots that lead out of it."""
        plain = unquote(path.partition("?")[0])
        return posixpath.normpath(plain) + "/" * plain.endswith("/") == plain and plain.startswith(self.folder)


@dataclass(frozen=True)
class Reach:
    """The mirrors of one build and the hosts that it may connect to."""

    hosts: frozenset[str]
    mirrors: tuple[Mirror, ...] = ()

    def allows(self, host: str) -> bool:
        """Whether a build may connect to `host`."""
        return host.lower().rstrip(".") in self.hosts


def without_credentials(url: str, mirrors: list[Mirror]) -> str:
    """`url` as a build may know it; where it holds a password, a mirror is added and its local address returned."""
    parts = urlsplit(url)
    if parts.username is None or parts.scheme not in ("http", "https"):
        return url
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    mirror = Mirror(
        number=len(mirrors),
        origin=f"{parts.scheme}://{_host_and_port(parts)}",
        folder=_folder_of(parts.path),
        path=parts.path or "/",
        authorization=f"Basic {base64.b64encode(secret).decode()}",
    )
    mirrors.append(mirror)
    return mirror.local_url


def hosts_of(urls: Iterable[str | None]) -> frozenset[str]:
    """The hosts that the web addresses among `urls` name."""
    found = (urlsplit(url).hostname for url in urls if url and url.startswith(("http://", "https://")))
    return frozenset(host.lower() for host in found if host)


def _host_and_port(parts: SplitResult) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{parts.port}" if parts.port else host


def _folder_of(path: str) -> str:
    """The index's own folder; the one above where it is called `simple`, since its files lie beside it."""
    folder = path.rstrip("/")
    if posixpath.basename(folder) == "simple":
        folder = posixpath.dirname(folder)
    return f"{folder.rstrip('/')}/"
