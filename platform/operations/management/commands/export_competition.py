"""`manage.py export_competition`: write a competition, with all that it needs, into one file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat

from core.errors import GauntletError
from operations.archives.exporting import export_archive


class Command(BaseCommand):
    """Command-line interface of the export of archives."""

    help = (
        "Write the archive of a whole competition, for another site: rows, objects, repositories. "
        "`competition export` writes its description alone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("file", type=Path, help="a new file, such as digits.tar")
        parser.add_argument(
            "--allow-missing", action="store_true", help="export without the files that the site has lost"
        )

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            done = export_archive(slug=given["slug"], file=given["file"], allow_missing=given["allow_missing"])
        except GauntletError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{given['file']}: {done.rows:,} rows, {done.repositories:,} repositories, {done.objects:,} objects, "
            f"{filesizeformat(done.bytes)}"
        )
        for each in done.missing:
            self.stdout.write(f"  not in it, since the site has lost it: {each}")
        self.stdout.write("It holds secret images, salts and code. Keep it as you keep a backup.")
