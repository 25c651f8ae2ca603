"""Versions of tables: a number for each table that differs after every committed change of its rows.

Triggers on a table add a row to `TableChange`, in the transaction that changes the table; the version is the sum of
these rows. So every way to change a row counts (services, `update`, the admin, SQL by hand), a version changes at the
same moment as the rows, and writers wait for nobody: a counter would be one row that all of them lock. The rows add
random numbers, so that a database that was restored from a backup does not repeat the versions of what was lost.

The triggers are made after each `migrate`, not by a migration: SQLite loses those of a table that a migration rewrites.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Sum

from core.models import TableChange

UNWATCHED = frozenset({"django_session"})
"""Tables without a version: their rows belong to one reader, and change with every visit.

A model whose class has `HAS_TABLE_VERSION = False` has none either. Pages that read such tables are not shared.
"""

FOLD_EACH = 4
"""Number of changes, for each table of the site, from which on they are folded."""

FOLD_MOST = 10_000
"""Rows that are folded at a time."""

LARGEST = 2**31 - 1
"""Largest amount of a change: billions of changes fit into the sum."""

_KINDS = {"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"}
"""Statements that change rows, and what PostgreSQL calls these rows."""

# statements that change no row change no version: sweeps often find nothing to update
_FUNCTION = f"""
CREATE OR REPLACE FUNCTION core_record_table_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$ BEGIN
  IF EXISTS (SELECT FROM changed) THEN
    INSERT INTO core_tablechange ("table", amount) VALUES (TG_TABLE_NAME, 1 + floor(random() * {LARGEST}));
  END IF;
  RETURN NULL;
END $$
"""  # noqa: S608 - constants
_TRIGGERS = {
    "postgresql": "CREATE TRIGGER {name} AFTER {kind} ON {table} REFERENCING {rows} TABLE AS changed "
    "FOR EACH STATEMENT EXECUTE FUNCTION core_record_table_change()",
    "sqlite": "CREATE TRIGGER {name} AFTER {kind} ON {table} BEGIN INSERT INTO core_tablechange "
    "(\"table\", amount) VALUES ('{plain}', 1 + abs(random() % {largest})); END",
}
_KNOWN = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}


@cache
def watched_tables() -> frozenset[str]:
    """Return the names of the tables that have a version."""
    models = apps.get_models(include_auto_created=True)
    watched = {model._meta.db_table for model in models if getattr(model, "HAS_TABLE_VERSION", True)}
    return frozenset(watched - UNWATCHED - {TableChange._meta.db_table})


def versions() -> Mapping[str, int]:
    """Return the versions of the tables that were ever changed, by name, in one query; the others have none."""
    rows = TableChange.objects.order_by().values_list("table").annotate(version=Sum("amount"))
    return {table: int(version) for table, version in rows}


def fold() -> None:
    """Replace the changes of each table by one with the same sum, if there are many. No version changes."""
    many, first = FOLD_EACH * len(watched_tables()), TableChange.objects.order_by("pk").values_list("pk", flat=True)
    while len(keys := list(first[:FOLD_MOST])) > many:
        _fold_up_to(keys[-1])


def _fold_up_to(last: int) -> None:
    sums: Counter[str] = Counter()
    with transaction.atomic(), connection.cursor() as cursor:
        # only what it deletes counts: another transaction may fold the same rows
        cursor.execute('DELETE FROM core_tablechange WHERE id <= %s RETURNING "table", amount', [last])
        for table, amount in cursor.fetchall():
            sums[table] += amount
        TableChange.objects.bulk_create(TableChange(table=table, amount=amount) for table, amount in sums.items())


def watch_after_migrate(using: str, **_: Any) -> None:
    """Make the triggers that are missing, and drop those of unwatched tables (a receiver of `post_migrate`)."""
    database, watched = connections[using], watched_tables()
    existing = set(database.introspection.table_names())
    if TableChange._meta.db_table not in existing:
        return
    with database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute(_FUNCTION)
        cursor.execute(_KNOWN[database.vendor])
        known = {name for (name,) in cursor.fetchall()}
    _watch(database, watched & existing, known)
    _leave(database, existing - watched, known)


def _leave(database: BaseDatabaseWrapper, tables: Collection[str], known: Collection[str]) -> None:
    """Drop the triggers of `tables`, of those that are `known`."""
    quote = database.ops.quote_name
    with database.cursor() as cursor:
        for table in sorted(tables):
            of = f" ON {quote(table)}" if database.vendor == "postgresql" else ""
            for kind in _KINDS:
                if (name := _trigger(table, kind)) in known:
                    cursor.execute(f"DROP TRIGGER {quote(name)}{of}")


def _trigger(table: str, kind: str) -> str:
    """Return the name of the trigger of one kind of statement."""
    return f"{table}_{kind.lower()}_recorded"


def _watch(database: BaseDatabaseWrapper, tables: Collection[str], known: Collection[str]) -> None:
    """Make the triggers of `tables` that are not `known`; a table that lacked one gets another version."""
    quote = database.ops.quote_name
    for table in sorted(tables):
        missing = {kind: name for kind in _KINDS if (name := _trigger(table, kind)) not in known}
        if not missing:
            continue
        # one table at a time: a trigger locks it, and the site may be writing into several
        with transaction.atomic(using=database.alias), database.cursor() as cursor:
            for kind, name in missing.items():
                names = {"name": quote(name), "table": quote(table), "plain": table, "largest": LARGEST}
                cursor.execute(_TRIGGERS[database.vendor].format(**names, kind=kind, rows=_KINDS[kind]))
            amount = 1 + secrets.randbelow(LARGEST)
            TableChange.objects.using(database.alias).create(table=table, amount=amount)
