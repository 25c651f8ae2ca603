"""`manage.py signing_key`: show the keys that sign result bundles, or replace the current one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import GauntletError
from core.time_format import for_programs
from rounds.release.signing_keys import all_keys, key_id, replace_lost, rotate


class Command(BaseCommand):
    """Command-line interface of the signing keys."""

    help = "Show the keys that sign result bundles, or change to a new one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("show", help="print identifier, date and public key of each key, the oldest first")
        for act, description in (
            ("rotate", "make the current key sign a new one, which replaces it"),
            ("replace", "start with a new key if the secret of the current one is lost"),
        ):
            acts.add_parser(act, help=description).add_argument("--reason", required=True, help="kept in the event log")

    def handle(self, *args: Any, **given: Any) -> None:
        change = {"rotate": rotate, "replace": replace_lost}.get(given["act"])
        try:
            if change:
                change(by=None, reason=given["reason"])
            for key in all_keys():
                self.stdout.write(f"{key_id(key.public)} {for_programs(key.made_at)} {key.public}")
        except GauntletError as error:
            raise CommandError(str(error)) from error
