"""The tables of a new site. Import only after Django's settings are named."""

from __future__ import annotations

from django.core.management import call_command
from django.db import connection


def make_tables() -> None:
    """Make the tables as an operator does."""
    call_command("migrate", verbosity=0)


def analyse() -> None:
    """Give the database statistics of its tables, which a live one collects while it grows."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
