"""What a build may reach: package mirrors, whose passwords the builder keeps, and hosts by name. Pure."""

from __future__ import annotations

import base64
import posixpath
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

PROXY_PORT = 3128
"""The proxy's port inside a build container."""

PROXY_URL = f"http://127.0.0.1:{PROXY_PORT}"

DEFAULT_HOSTS = (
    "pypi.org", "files.pythonhosted.org",
    "deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com",
    "conda.anaconda.org", "repo.anaconda.com",
)  # fmt: skip
"""The public package indexes of pip, apt and conda."""

_PUBLIC_INDEX = ("pypi.org", "files.pythonhosted.org")
"""The hosts that pip uses if no mirror is set."""

_LINK = re.compile(rb"""(\bhref\s*=\s*["']?|"(?:url|base_url|tarball)"\s*:\s*")([^\s"'>]+)""", re.IGNORECASE)
"""A link in a page of an index, in HTML or in JSON of PyPI, conda or npm: what is in front of it, and its address."""


@dataclass(frozen=True)
class Mirror:
    """A package mirror of the operator. A build uses it as `local_url`; the proxy adds the password.

    Nothing outside `folder` is served: the address or the password may open more than packages.
    """

    number: int
    origin: str
    """Scheme, host and port, such as `https://mirror.example:8443`."""
    folder: str
    """The path, with slashes at both ends, below which the index and its files are."""
    path: str
    authorization: str
    """The value of the `Authorization` header; empty if none is needed."""

    @property
    def prefix(self) -> str:
        """The start of the proxy's paths for this mirror."""
        return f"/mirror/{self.number}"

    @property
    def local_url(self) -> str:
        """The mirror's address inside a build."""
        return f"{PROXY_URL}{self.prefix}{self.path}"

    def covers(self, path: str) -> bool:
        """Return True if the request path `path` is in the folder, without dots that lead out of it."""
        plain = unquote(path.partition("?")[0])
        straight = posixpath.normpath(plain) + "/" * (plain.endswith("/") and plain != "/") == plain
        return straight and f"{plain}/".startswith(self.folder)

    def local_link(self, link: str) -> str:
        """Return a link as one of the proxy if it leads to the mirror: with its origin, or from its root.

        A host whose name begins with the mirror's is another.
        """
        root = f"{PROXY_URL}{self.prefix}"
        if link.startswith("/") and not link.startswith("//"):
            return f"{root}{link}"
        rest = link.removeprefix(self.origin)
        return f"{root}{rest}" if rest != link and rest[:1] in ("", "/", "?", "#") else link

    def local_page(self, page: bytes) -> bytes:
        """Return a page of an index, in HTML (PEP 503) or JSON (PEP 691, and others), with links as of `local_link`."""
        return _LINK.sub(lambda found: found[1] + self.local_link(found[2].decode("latin-1")).encode("latin-1"), page)


@dataclass(frozen=True)
class Reach:
    """The mirrors of one build, and the hosts that it may connect to on the usual ports."""

    hosts: frozenset[str]
    mirrors: tuple[Mirror, ...] = ()
    uses_public_index: bool = True
    """Whether no mirror stands in for the public index: extra mirrors do not."""

    @property
    def needed(self) -> frozenset[str]:
        """The mirrors and hosts whose failure makes a missing package a platform error."""
        public = frozenset(_PUBLIC_INDEX) & self.hosts if self.uses_public_index else frozenset()
        return public | {mirror.origin for mirror in self.mirrors}

    def allows(self, host: str) -> bool:
        """Return True if a build may connect to `host`."""
        return host.lower().rstrip(".") in self.hosts


def mirrored(url: str, mirrors: list[Mirror]) -> str:
    """Add the mirror at `url` to `mirrors` and return its address inside a build; return other than web URLs as is."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return url
    secret = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
    mirror = Mirror(
        number=len(mirrors),
        origin=f"{parts.scheme}://{_host_and_port(parts)}",
        folder=_folder_of(parts.path),
        path=parts.path or "/",
        authorization=f"Basic {base64.b64encode(secret).decode()}" if parts.username is not None else "",
    )
    mirrors.append(mirror)
    return mirror.local_url


def _host_and_port(parts: SplitResult) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{parts.port}" if parts.port else host


def _folder_of(path: str) -> str:
    """Return the folder of an index, or its parent if it is `simple` (devpi: `+simple`): the files are next to it."""
    folder = path.rstrip("/")
    if posixpath.basename(folder) in ("simple", "+simple"):
        folder = posixpath.dirname(folder)
    return f"{folder.rstrip('/')}/"
