"""`manage.py backup`: store the running site in a backup repository of restic."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat

from core.errors import GauntletError
from operations.backups.services import back_up


class Command(BaseCommand):
    """Command-line interface of backups."""

    help = "Store database, repositories, objects and keys of the running site in the repository RESTIC_REPOSITORY."
    requires_system_checks: list[str] = []  # a backup is made with a wrong setting of pages, too

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            stored = back_up()
        except GauntletError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(
                f"the backup cannot be prepared in {settings.STATE}: {error}\n  fix: free disk space there, as much as "
                "the database takes, or repair the disk; then run it again"
            ) from error
        self.stdout.write(
            f"snapshot {stored.snapshot}: {stored.files:,} files, {filesizeformat(stored.bytes)}, of which "
            f"{filesizeformat(stored.new_bytes)} are new"
        )
        if settings.OBJECTS:
            self.stdout.write("the objects are in the bucket, not in the snapshot: copy or replicate it, too")
