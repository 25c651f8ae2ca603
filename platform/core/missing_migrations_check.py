"""Check whether the tables of the database are those of this version."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from core.errors import Refusal


def require_migrated() -> None:
    """Raise `Refusal` if migrations are missing, if there are later ones, or if the database cannot be reached."""
    try:
        require_tables_of_this_version()
    except Error as error:
        raise Refusal(
            f"the database cannot be reached: {error}", fix="start the database, or correct DATABASE_URL"
        ) from error


def require_tables_of_this_version() -> None:
    """Raise `Refusal` if migrations are missing or there are later ones, and `Error` as the database does."""
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if missing:
        raise Refusal(
            f"the database lacks {missing} migration{'s' if missing > 1 else ''}", fix="run: manage.py migrate"
        )
    require_no_later_migration(executor.loader)


def require_no_later_migration(loader: MigrationLoader) -> None:
    """Raise `Refusal` if a later version has migrated the database, whose tables this one does not know.

    Migrations are numbered. An unknown one before the last of its app is nothing to worry about: others replaced it.
    """
    last = dict(loader.graph.leaf_nodes())
    later = sorted(f"{app}.{name}" for app, name in loader.applied_migrations if app in last and name > last[app])
    if later:
        raise Refusal(
            f"the database is that of a later version: this one does not have the migration {later[-1]}",
            fix="start that version; or go back to this one with a backup from before the update: manage.py restore "
            "SNAPSHOT",
        )
