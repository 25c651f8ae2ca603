"""`manage.py doctor`: check a running installation, and say what to do."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from operations.doctor import CheckFinding, Level, examine


class Command(BaseCommand):
    """Command-line interface of the checks. Exits with 1 where something does not work."""

    help = "Check database, folders, broker, workers, keys, mail, clock and backups of a running site."
    requires_system_checks: list[str] = []  # they are one of the checks

    def add_arguments(self, parser: ArgumentParser) -> None:
        help_of_worker = "also check that this host can play: sandbox, guards, speed"
        parser.add_argument("--worker", action="store_true", help=help_of_worker)
        parser.add_argument("--json", action="store_true", help="print the findings as one JSON array")

    def handle(self, *args: Any, **given: Any) -> None:
        found = []
        for finding in examine(worker=given["worker"]):
            found.append(finding)
            if not given["json"]:
                self._print(finding)
        if given["json"]:
            self.stdout.write(json.dumps([asdict(finding) for finding in found], indent=2))
        if any(finding.level == Level.PROBLEM for finding in found):
            raise SystemExit(1)

    def _print(self, finding: CheckFinding) -> None:
        style = {Level.OK: self.style.SUCCESS, Level.WARNING: self.style.WARNING, Level.PROBLEM: self.style.ERROR}
        self.stdout.write(f"{style[finding.level](f'{finding.level:<8}')} {finding.subject}: {finding.text}")
        if finding.fix:
            self.stdout.write(f"         fix: {finding.fix}")
