"""Check for missing migrations."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

from core.errors import Refusal


def require_migrated() -> None:
    """Raise `Refusal` if migrations are missing or the database cannot be reached."""
    try:
        missing = count_missing()
    except Error as error:
        raise Refusal(
            f"the database cannot be reached: {error}", fix="start the database, or correct DATABASE_URL"
        ) from error
    if missing:
        raise Refusal(
            f"the database lacks {missing} migration{'s' if missing > 1 else ''}", fix="run: manage.py migrate"
        )


def count_missing() -> int:
    """Return how many migrations of this version the database lacks. Raise `Error` if it cannot be reached."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
