"""Empty the database after a test that commits, many times faster than Django's `flush`."""

from __future__ import annotations

from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

CONTENT_TYPES = "django_content_type"
TRIES = 5


def empty_databases(case: TransactionTestCase) -> None:
    """Delete all rows that a test wrote, in place of `TransactionTestCase._fixture_teardown`.

    `flush` truncates every table, for which PostgreSQL makes a new file for each table and index, and then makes the
    content types of every app again. Here they stay: they are the same for all tests.
    """
    for connection in connections.all():
        for left in reversed(range(TRIES)):
            try:
                _delete_rows(connection)
                break
            except OperationalError:  # a thread of the test's server was about to end its transaction: a deadlock
                if not left:
                    raise


def _delete_rows(connection: BaseDatabaseWrapper) -> None:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    # foreign keys are checked at the end of the transaction, so any order will do
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        emptied = (connection.ops.quote_name(table) for table in tables if table != CONTENT_TYPES)
        statements = [f"DELETE FROM {table}" for table in emptied]  # noqa: S608 - quoted
        # PostgreSQL takes them all at once, in a tenth of the time
        for statement in ["; ".join(statements)] if connection.vendor == "postgresql" else statements:
            cursor.execute(statement)
        if connection.vendor == "sqlite":  # numbers of rows begin at 1 again, as after a test that does not commit
            cursor.execute(f"DELETE FROM sqlite_sequence WHERE name <> '{CONTENT_TYPES}'")  # noqa: S608 - a constant
