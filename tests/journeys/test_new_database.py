"""A new database is as one that was migrated step by step.

What a migration runs (`RunPython`, `RunSQL`) does not run for a new database. So it may neither make rows where there
are none nor change what the models do not describe.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.apps import apps

from tests.journeys.sites import MakeSite, Site

pytestmark = pytest.mark.slow(20)

STOP = ("rounds", "0003")
"""Where an earlier version left the database: before hosts, workers and rounds moved to other apps."""

SQLITE = "SELECT tbl_name, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
POSTGRESQL = """
SELECT attrelid::regclass::text, '', concat_ws(' ', quote_ident(attname), format_type(atttypid, atttypmod), attnotnull,
       attidentity, pg_get_expr(adbin, adrelid), collname)
  FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
       LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
       LEFT JOIN pg_collation ON attcollation = pg_collation.oid
 WHERE relkind IN ('r', 'p', 'v', 'm') AND relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
 WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT quote_ident(tablename), indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT '', proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""


def answer(site: Site, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    address = site.environment["DATABASE_URL"]
    opened = psycopg2.connect(address) if address else sqlite3.connect(site.state / "site.sqlite3")
    with closing(opened) as database:
        cursor = database.cursor()
        cursor.execute(statement)
        return list(cursor.fetchall())


def definitions(site: Site) -> Iterator[tuple[str, str, str]]:
    """Yield tables, columns, constraints, indexes and triggers: the table, the name and the definition of each.

    Names that neither models nor table versions give are left out: those of a table that was renamed are from its
    earlier name. So is the order of columns.
    """
    named = {each.name for model in apps.get_models() for each in [*model._meta.constraints, *model._meta.indexes]}
    for table, name, definition in answer(site, POSTGRESQL if site.environment["DATABASE_URL"] else SQLITE):
        if definition.startswith("CREATE TABLE"):
            definition = " ".join(sorted(definition.partition("(")[2].removesuffix(")").split(", ")))
        known = name if name in named or definition.startswith(("CREATE TRIGGER", "CREATE OR REPLACE")) else ""
        yield table, known, re.sub(rf'"?\b{re.escape(name)}\b"?', "", definition) if name and not known else definition


def tables_with_rows(site: Site) -> set[str]:
    """Return the tables that have rows."""
    tables = {table for table, _, _ in definitions(site) if table}
    return {table for table in tables if answer(site, f"SELECT 1 FROM {table} LIMIT 1")}  # noqa: S608 - a name


def migrate(root: Path, site: Site, *runs: Sequence[str]) -> str:
    """`manage.py migrate` with the arguments of each run, in one program that collects no garbage: what it printed."""
    program = (
        "import django, gc; gc.disable(); django.setup()\n"
        f"for run in {runs}: django.core.management.call_command('migrate', *run)"
    )
    environment = site.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("on_laptop", [False, True], ids=["services", "laptop"])
def test_a_new_database_is_as_a_migrated_one(root: Path, make_site: MakeSite, on_laptop: bool) -> None:
    new, migrated = (make_site(DATABASE_URL="") if on_laptop else make_site() for _ in range(2))
    assert "Applying" not in migrate(root, new, [])
    assert "Applying rounds.0006" in migrate(root, migrated, STOP, [])
    assert sorted(definitions(new)) == sorted(definitions(migrated))
    assert tables_with_rows(new) == tables_with_rows(migrated)
    applied = "SELECT app, name FROM django_migrations"
    assert set(answer(new, applied)) == set(answer(migrated, applied))
