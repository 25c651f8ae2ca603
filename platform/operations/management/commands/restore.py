"""`manage.py restore`: fill an empty site from a backup, and verify it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from core.errors import GauntletError
from core.site_identity import require_identity
from operations.backups.extension_points import put_right
from operations.backups.services import restore


class Command(BaseCommand):
    """Command-line interface of restores."""

    help = "Fill an empty state folder and an empty database from the repository RESTIC_REPOSITORY."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "snapshot", nargs="?", default="latest", help="as `restic snapshots` lists it; default: latest"
        )

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            manifest, damaged = restore(given["snapshot"])
            self.stdout.write(
                f"{settings.STATE} and the database are those of {manifest.made_at} (version {manifest.version})"
            )
            call_command("migrate", interactive=False, verbosity=0)
            require_identity()
            put_right.answers()
        except GauntletError as error:
            raise CommandError(str(error)) from error
        try:
            call_command("leaderboards", "verify", stdout=self.stdout)
        except CommandError as error:  # the moment of the backup was between a score and its leaderboard
            self.stdout.write(
                f"{error}\n  Start the site, and run `manage.py leaderboards verify` again after some minutes."
            )
        if damaged:
            raise CommandError(
                "\n".join([*damaged, "  fix: restore an earlier snapshot; if none is whole, start the site as it is"])
            )
