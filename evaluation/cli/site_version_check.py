"""Comparison of this program with what a site that it talks to has: its version, and the build in its kit."""

from __future__ import annotations

import json
import re
import shlex
import sys
import urllib.request
from contextlib import suppress
from datetime import UTC, datetime
from email.message import Message
from functools import lru_cache
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from evaluation import __version__
from evaluation.cli.output import say
from evaluation.sandbox.state_directory import state_directory, write_atomically

VERSION_HEADER, KIT_HEADER = "Gauntlet-Version", "Gauntlet-Kit"
"""The headers of the API with the version of the site, and the SHA-256 of the wheel that it serves."""

_VERSION = re.compile(r"[\w.+!-]{1,40}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"/kit/files/([0-9a-f]{16})/")
_SECONDS = 10
_MOST_BYTES = 1 << 20
_noted: set[str] = set()


def note_version(site: str, headers: Message) -> None:
    """Say, once a day for a site, that it has another version or build than this program, and what installs that.

    `headers` are those of an answer; a site that does not say what it has, or a checkout of this program, is not
    compared.
    """
    version, kit = headers.get(VERSION_HEADER, ""), headers.get(KIT_HEADER, "")
    if site in _noted or not _VERSION.fullmatch(version):
        return
    same_version = version == __version__
    installed = installed_wheel()
    if same_version and (not installed or not _DIGEST.fullmatch(kit) or kit.startswith(installed)):
        return
    _noted.add(site)
    if _said_today(site, version, kit):
        return
    other = "another build of it" if same_version else version
    say(f"This is gauntlet {__version__}; the site has {other}. {_update(site, same_version=same_version)}")


@lru_cache(maxsize=1)
def installed_wheel() -> str:
    """Return the SHA-256 of the wheel that this program was installed from, as pip noted it; "" for a checkout.

    Of pip before 23.1, such as that of Debian 12, only its beginning, which is in the address of the wheel.
    """
    try:
        origin = json.loads(distribution("gauntlet-arena").read_text("direct_url.json") or "{}")
        digest = origin.get("archive_info", {}).get("hashes", {}).get("sha256")
        key = _KEY.search(origin.get("url", ""))
        return str(digest or (key[1] if key else ""))
    except (PackageNotFoundError, ValueError, AttributeError):
        return ""


def _said_today(site: str, version: str, kit: str) -> bool:
    """Return whether the same was said today, and note that it is."""
    file = state_directory("notices") / "versions.json"
    today = [datetime.now(UTC).date().isoformat(), version, kit]
    try:
        said: dict[str, list[str]] = dict(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        said = {}
    if said.get(site) == today:
        return True
    with suppress(OSError):  # then it is said again
        write_atomically(file, json.dumps({**said, site: today}))
    return False


def _update(site: str, *, same_version: bool) -> str:
    """Return what to do: the command that installs the kit of the site, or where its pages say how."""
    if _api_index(site).get("kit"):
        command = [sys.executable, "-m", "pip", "install", "-r", f"{site}/kit/requirements.txt"]
        if same_version:  # pip keeps what has the same version
            command.insert(-2, "--force-reinstall")
        return f"Update: {shlex.join(command)}"
    return f"{site}/docs#gauntlet says how to get that."


def _api_index(site: str) -> dict[str, Any]:
    """Return what the site says about its API; nothing if it does not answer."""
    try:
        # the scheme is that of the request before
        with urllib.request.urlopen(f"{site}/api/v1/", timeout=_SECONDS) as answer:  # noqa: S310
            index = json.loads(answer.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError, HTTPException):
        return {}
    return index if isinstance(index, dict) else {}
