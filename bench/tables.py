"""The tables of a new site. Import only after Django's settings are named."""

from __future__ import annotations

from django.core.management import call_command


def make_tables() -> None:
    """Make the tables as an operator does."""
    call_command("migrate", verbosity=0)
