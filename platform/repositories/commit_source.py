"""Bare repositories that have a commit: on hosts without the folder of repositories, fetched from a web server."""

from __future__ import annotations

import base64
import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from core.errors import Fault, HostFault
from repositories.checkout import require_space
from repositories.git_command import git
from repositories.models import Repository

_FETCH_SECONDS = 900.0
"""Time limit of a fetch: 2 GiB at 2.5 MB/s."""

_PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Seconds before a fetch is tried again: the web server may restart."""

_BUSY = "returned error: 503"
"""What git says of a web server that takes no more fetches now: all slots of a cluster have one credential."""

_BUSY_SECONDS = 300.0
"""So long a fetch waits for its place: half of what a build may take beyond its builder's limit."""

_BUSY_PAUSE = 5.0
"""Seconds on average between two tries, drawn, so that the slots of a cluster do not come together each time."""

_PASSED_ON = ("GIT_SSL_CAINFO", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
"""Variables of this host that git needs to reach the site. An empty one is none: git would read no authorities."""


@contextmanager
def commit_source(repository: Repository, commit: str) -> Iterator[Path]:
    """Yield a bare repository for reading `commit`: the team's own, or a temporary one with that commit alone.

    Raise `HostFault` if the commit cannot be fetched.
    """
    if not settings.HOST_TOKEN:
        yield repository.path
        return
    folder: Path = settings.CHECKOUTS
    folder.mkdir(parents=True, exist_ok=True)
    require_space(settings.MAX_CHECKOUT_BYTES, disk=folder, what=f"fetching {commit[:12]}")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as name:
        path = Path(name) / f"{repository.pk}.git"
        path.mkdir()
        git(path, "init", "--quiet", "--bare", "--template=")
        _write_configuration(path)
        _fetch(path, f"{settings.SITE_ADDRESS}/git/hosts/{repository.pk}.git", commit)
        yield path


def _write_configuration(path: Path) -> None:
    """Write the credential into the repository, where no list of processes shows it."""
    password = base64.b64encode(f"host:{settings.HOST_TOKEN}".encode()).decode()
    with (path / "config").open("a") as file:
        file.write(f'[http]\n\textraHeader = "Authorization: Basic {password}"\n\tfollowRedirects = false\n')
        file.write("\tlowSpeedLimit = 1000\n\tlowSpeedTime = 60\n")


def _fetch(path: Path, address: str, commit: str) -> None:
    passed_on = {name: value for name in _PASSED_ON if (value := os.environ.get(name, ""))}
    command = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", address, commit)
    pauses, busy_until = iter(_PAUSES), time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            git(path, *command, seconds=_FETCH_SECONDS, extra=passed_on)
            return
        except Fault as fault:
            is_busy = _BUSY in str(fault) and time.monotonic() < busy_until
            pause = random.uniform(0, 2 * _BUSY_PAUSE) if is_busy else next(pauses, None)
            if pause is None:
                raise HostFault(f"the commit {commit} cannot be fetched from {address}: {fault}") from fault
            time.sleep(pause)
