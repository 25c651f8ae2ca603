"""`manage.py signing_key`: show the keys that sign result bundles, and change to a new one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import GauntletError
from rounds.signing_keys import all_keys, date_of, key_id, replace_lost, rotate


class Command(BaseCommand):
    """Thin: the services do the work."""

    help = "Show the keys that sign result bundles, or change to a new one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("show", help="print identifier, date and public key of each, the oldest first")
        for act, told in (
            ("rotate", "let the key in use name a new one, which signs from now on"),
            ("replace", "begin with a new key where the secret of the old one is lost for ever"),
        ):
            acts.add_parser(act, help=told).add_argument("--reason", required=True, help="kept in the event log")

    def handle(self, *args: Any, **given: Any) -> None:
        change = {"rotate": rotate, "replace": replace_lost}.get(given["act"])
        try:
            if change:
                change(by=None, reason=given["reason"])
            for key in all_keys():
                self.stdout.write(f"{key_id(key.public)} {date_of(key.made_at)} {key.public}")
        except GauntletError as error:
            raise CommandError(str(error)) from error
