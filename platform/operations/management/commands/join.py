"""`manage.py join`: make this host a worker host of a site, with a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.site_identity import FILE

_SECONDS = 60
_NAMES = 40
"""More settings than any site sends."""


class Command(BaseCommand):
    """Get the settings of this host for the key of an administrator, keep them, and check the host with them."""

    help = "Make this host a worker host of a site. Its administrators show the command (admin, Host credentials)."
    requires_system_checks: list[str] = []  # they are for a site

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("site", help="address of the site: https://arena.example")
        parser.add_argument("key", help="the key that the site shows")

    def handle(self, *args: Any, **given: Any) -> None:
        kept: Path = settings.STATE / "host-settings"
        for file in (kept, settings.STATE / FILE):
            if file.exists():
                raise CommandError(
                    f"{settings.STATE} is the folder of a site, or of a host that has joined one ({file.name})\n"
                    "  fix: choose an empty one with GAUNTLET_STATE, or remove it"
                )
        site = given["site"].rstrip("/")
        joined = _join(site, given["key"])
        variables = {**joined["settings"], "GAUNTLET_ADDRESS": site}
        kept.touch(mode=0o600)
        kept.write_text("".join(f"{name}={value}\n" for name, value in variables.items()), encoding="utf-8")
        self.stdout.write(f"this host is {joined['host']} of {site}; its settings are in {kept}")
        checked = subprocess.run([sys.executable, str(settings.ROOT / "manage.py"), "doctor", "--worker"], check=False)
        self.stdout.write(
            "Start its workers (docs/operating.md, Worker hosts):\n"
            "  celery --app config worker --queues build --concurrency 2 --hostname builder@%h\n"
            "  celery --app config worker --queues play --concurrency 2 --hostname player@%h"
        )
        if checked.returncode:
            raise CommandError("the host has joined, but the checks above found a problem")


def _join(site: str, key: str) -> dict[str, Any]:
    if urlsplit(site).scheme not in {"http", "https"}:
        raise CommandError(f"{site} is not the address of a site\n  fix: copy the whole command from the admin")
    try:
        answer = requests.post(f"{site}/hosts/join", json={"key": key}, timeout=_SECONDS, allow_redirects=False)
        found = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise CommandError(
            f"{site} does not answer as a site does: {error}\n  fix: see that its address is right, and that it runs"
        ) from error
    if not answer.ok:
        cause = found.get("problem", f"{site} answers {answer.status_code}")
        raise CommandError(f"{cause}\n  fix: {found.get('fix', 'ask for a new key')}")
    _check(found)
    return dict(found)


def _check(found: Any) -> None:
    """Refuse an answer that is none of a site: what it says becomes this host's environment."""
    sent = found.get("settings") if isinstance(found, dict) else None
    if not isinstance(sent, dict) or len(sent) > _NAMES:
        raise CommandError("the answer is not that of a site of this version")
    for name, value in sent.items():
        known = name == "DATABASE_URL" or name.startswith("GAUNTLET_")
        if not (known and isinstance(value, str) and value.isprintable()):
            raise CommandError(f"the site sends a setting {name[:40]!r} that no host has")
