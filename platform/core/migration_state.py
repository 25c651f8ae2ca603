"""Whether the database has every table that the code expects."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

from core.errors import Refusal


def require_migrated() -> None:
    """Raises `Refusal` where migrations are due, or where the database cannot be asked."""
    try:
        executor = MigrationExecutor(connection)
        due = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error as error:
        raise Refusal(f"the database cannot be reached: {error}", fix="start it, or correct DATABASE_URL") from error
    if due:
        raise Refusal(
            f"the database lacks {len(due)} migration{'s' if len(due) > 1 else ''}", fix="run: manage.py migrate"
        )
