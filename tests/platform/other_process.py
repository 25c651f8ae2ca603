"""What a test tells a process that shares its database."""

from __future__ import annotations

from pathlib import Path

from django.db import connection


def database_url() -> str:
    """Return the address of this test's database."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{Path(values['NAME']).resolve()}"
    return f"postgresql://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}/{values['NAME']}"
