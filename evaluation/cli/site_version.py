"""Comparison of this program's version with that of a site that it talks to."""

from __future__ import annotations

import json
import re
import shlex
import sys
import urllib.request
from typing import Any

from evaluation import __version__
from evaluation.cli.output import say

VERSION_HEADER = "Gauntlet-Version"
"""The header of the API with the version of the site."""

_VERSION = re.compile(r"[\w.+!-]{1,40}")
_SECONDS = 10
_MOST_BYTES = 1 << 20
_noted: set[str] = set()


def note_version(site: str, version: str) -> None:
    """Say, once for a site, that it has another version than this program, and what installs that.

    `version` is what an answer of the API has in `VERSION_HEADER`, "" for a site that does not say it.
    """
    if version == __version__ or not _VERSION.fullmatch(version) or site in _noted:
        return
    _noted.add(site)
    say(f"This is gauntlet {__version__}; the site has {version}. {_update(site)}")


def _update(site: str) -> str:
    """Return what to do: the command that installs the kit of the site, or where its pages say how."""
    if _api_index(site).get("kit"):
        command = [sys.executable, "-m", "pip", "install", "-r", f"{site}/kit/requirements.txt"]
        return f"Update: {shlex.join(command)}"
    return f"{site}/docs#gauntlet says how to get that."


def _api_index(site: str) -> dict[str, Any]:
    """Return what the site says about its API; nothing if it does not answer."""
    try:
        # the scheme is that of the request before
        with urllib.request.urlopen(f"{site}/api/v1/", timeout=_SECONDS) as answer:  # noqa: S310
            index = json.loads(answer.read(_MOST_BYTES))
    except (OSError, ValueError):
        return {}
    return index if isinstance(index, dict) else {}
