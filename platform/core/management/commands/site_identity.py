"""`manage.py site_identity`: check that state folder and database are of one site, or decide that they are."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.errors import GauntletError
from core.missing_migrations_check import require_migrated
from core.site_identity import adopt, require_identity


class Command(BaseCommand):
    """Command-line interface of the site's identity."""

    help = "Check that the state folder is the one of the database, or make it that."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("check", help="compare the identifiers; a new site gets one")
        adopts = acts.add_parser("adopt", help="give the state folder the identifier of the database")
        adopts.add_argument("--reason", required=True, help="kept in the event log")
        adopts.add_argument(
            "--without-files", action="store_true", help="also if it has no files of the site: they are lost"
        )

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            require_migrated()
            if given["act"] == "adopt":
                adopt(reason=given["reason"], without_files=given["without_files"])
            require_identity()
        except GauntletError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{settings.STATE} is the state folder of this site")
