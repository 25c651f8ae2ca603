"""`manage.py invite_host`: let a worker host with a folder of its own join this site."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.errors import Refusal
from workers.host_credentials import join_key, make_credential


class Command(BaseCommand):
    """Print the command with which the host joins; the admin does the same (Host credentials)."""

    help = "Print the command with which a worker host joins this site, once, within an hour."
    requires_system_checks: list[str] = []  # as in the admin: they are part of `migrate` and `doctor`

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the host, such as gpu-1")

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            made = make_credential(host=given["name"], by=None)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"python manage.py join {settings.SITE_ADDRESS} {join_key(made)}")
