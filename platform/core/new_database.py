"""The tables of a new database, made at once.

Migrations change tables one operation at a time, and after each Django renders the models again: most of the processor
time of a first start. In a new database the tables that all migrations end at are made directly, and every migration
is recorded as applied. Any other database is migrated.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor


def is_new(database: BaseDatabaseWrapper) -> bool:
    """Return whether the database has no table."""
    return not database.introspection.table_names()


def make_tables(database: BaseDatabaseWrapper) -> None:
    """Make the tables that the migrations end at, and record all migrations, in one transaction.

    What migrations run does not run: it changes rows, and there is none.
    """
    executor = MigrationExecutor(database)
    loader, recorder = executor.loader, executor.recorder
    state = loader.project_state()
    with database.schema_editor() as editor:
        editor.create_model(recorder.Migration)
        for key in state.models:
            model = state.apps.get_model(*key)
            if model._meta.can_migrate(database):
                editor.create_model(model)
        for key in loader.disk_migrations:
            recorder.record_applied(*key)
