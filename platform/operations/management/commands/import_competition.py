"""`manage.py import_competition`: add a competition that was played on another site, to be read."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import GauntletError
from operations.archives.importing import import_archive


class Command(BaseCommand):
    """Command-line interface of the import of archives."""

    help = (
        "Add the competition of an archive that export_competition wrote, as one that can only be read. "
        "`competition import` makes a new one from its description."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--as", dest="slug", default="", metavar="SLUG", help="its short name on this site")

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            done = import_archive(file=given["file"], slug=given["slug"])
        except GauntletError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"imported {done.competition.slug}: {done.competition.title}, played on {done.origin.address}"
        )
        for each in done.renamed:
            self.stdout.write(f"  {each}")
        for each in done.missing:
            self.stdout.write(f"  missing since its export: {each}")
