"""Check for missing migrations."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

from core.errors import Refusal


def require_migrated() -> None:
    """Raise `Refusal` if migrations are missing or the database cannot be reached."""
    try:
        executor = MigrationExecutor(connection)
        due = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error as error:
        raise Refusal(
            f"the database cannot be reached: {error}", fix="start the database, or correct DATABASE_URL"
        ) from error
    if due:
        raise Refusal(
            f"the database lacks {len(due)} migration{'s' if len(due) > 1 else ''}", fix="run: manage.py migrate"
        )
