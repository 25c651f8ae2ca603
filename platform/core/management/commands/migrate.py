"""`manage.py migrate`: Django's command, which makes the tables of a new database at once."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from core.new_database import is_new, make_tables

_OTHER_TASKS = ("app_label", "fake", "fake_initial", "plan", "check_unapplied", "prune", "run_syncdb")
"""Options with which the command does not migrate everything, or not at all."""


class Command(migrate.Command):
    """Django's command."""

    def handle(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        if is_new(database) and not any(options[name] for name in _OTHER_TASKS):
            make_tables(database)
            if options["verbosity"]:
                self.stdout.write("Made the tables of a new database")
        super().handle(*args, **options)
