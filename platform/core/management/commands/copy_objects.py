"""`manage.py copy_objects`: fill a new object store from the folder that was the old one."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import GauntletError
from core.object_store import copy_folder


class Command(BaseCommand):
    """Copy objects, also while the site runs; safe to repeat."""

    help = "Copy the objects of a folder into the object store of this site (GAUNTLET_OBJECTS)."
    requires_system_checks: list[str] = []  # they are part of `migrate` and `doctor`

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder `objects` of the state folder")

    def handle(self, *args: Any, **given: Any) -> None:
        folder: Path = given["folder"]
        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder\n  fix: name the folder `objects` of the state folder")
        copied = 0
        try:
            for name, is_object in copy_folder(folder):
                copied += is_object
                if not is_object:
                    self.stderr.write(f"not copied, since its bytes have another digest: {name}")
        except GauntletError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{copied} objects are in the store")
