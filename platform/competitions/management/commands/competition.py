"""`manage.py competition`: import a competition from a TOML file, and export it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from competitions.import_warnings import import_notes
from competitions.models import Competition
from competitions.services import export_competition, import_competition
from competitions.shifted_dates import shifted
from competitions.toml_text import parsed, written
from core.errors import GauntletError
from core.missing_migrations_check import require_migrated
from core.site_identity import require_identity


class Command(BaseCommand):
    """Command line of the competition services."""

    help = "Import a competition from a TOML file, or export one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="act", required=True)
        imported = commands.add_parser("import", help="create or update a competition")
        imported.add_argument("file", type=Path)
        imported.add_argument(
            "--starts",
            type=_moment,
            metavar="TIME",
            help="move all dates of the file so that the competition starts then, for example 2027-07-01 (UTC)",
        )
        export = commands.add_parser("export", help="print a competition as TOML")
        export.add_argument("slug")
        export.add_argument("--out", type=Path, help="write to this file instead of standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            require_migrated()
            if options["act"] == "import":
                require_identity()  # otherwise the samples would be written where no other host finds them
                document = _read(options["file"])
                competition = import_competition(
                    shifted(document, starts) if (starts := options["starts"]) else document
                )
                self.stdout.write(f"imported {competition.slug}: {competition.title}")
                for note in import_notes(competition):
                    self.stdout.write(f"  {note}")
            else:
                self._export(options["slug"], options["out"])
        except GauntletError as error:
            raise CommandError(str(error)) from error

    def _export(self, slug: str, out: Path | None) -> None:
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            known = ", ".join(Competition.objects.values_list("slug", flat=True)) or "none"
            raise CommandError(f"there is no competition {slug!r}\n  fix: choose from: {known}")
        text = written(export_competition(competition))
        if out is None:
            self.stdout.write(text, ending="")
            return
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error}\n  fix: choose another file") from error


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a date or time like 2027-07-01 or 2027-07-01T12:00:00Z") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _read(path: Path) -> dict[str, Any]:
    try:
        return parsed(path.read_bytes(), str(path))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error}\n  fix: give a readable file") from error
