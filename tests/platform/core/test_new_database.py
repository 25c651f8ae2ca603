"""The tables of a new database. That they are those of the migrations, a journey checks on both databases."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from django.apps import apps
from django.db import connection

MIGRATE = """
import io, json, sys
import django
django.setup()
from django.core.management import call_command
from django.db import connection
for statement, arguments in json.load(sys.stdin):
    if statement:
        connection.cursor().execute(statement)
    printed = io.StringIO()
    try:
        call_command("migrate", *arguments, stdout=printed)
    except (Exception, SystemExit) as error:
        printed.write(f"ended with {error!r}")
    print(json.dumps([printed.getvalue(), connection.introspection.table_names()]))
"""
"""`manage.py migrate` with arguments after a statement, as often as stdin says."""


class Migrated(NamedTuple):
    """What the command printed, and the tables after it."""

    printed: str
    tables: list[str]


@pytest.mark.slow(4)
def test_a_new_database_gets_all_tables_at_once_or_none(root: Path, tmp_path: Path) -> None:
    """All of it in one process, whose start takes longer than the rest."""
    acts = [
        ("", ["--plan"]),
        ("CREATE VIEW workers_host AS SELECT 1", []),
        ("DROP VIEW workers_host", []),
        ("", ["--check"]),
    ]
    site = {"GAUNTLET_STATE": str(tmp_path), "DATABASE_URL": "", "GAUNTLET_BROKER": ""}
    site |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", MIGRATE], cwd=root, env=os.environ | site, input=json.dumps(acts),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    planned, failed, made, checked = (Migrated(*json.loads(line)) for line in done.stdout.splitlines())

    # 1. a plan and a failure make nothing
    assert "competitions.0001_initial" in planned.printed
    assert planned.tables == []
    assert "workers_host" in failed.printed
    assert failed.tables == []

    # 2. all tables, and what follows every migration
    assert "Made the tables of a new database" in made.printed
    assert "No migrations to apply" in made.printed
    assert "not yet reflected in a migration" not in made.printed
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.can_migrate(connection)]
    assert set(made.tables) == {model._meta.db_table for model in models} | {"django_migrations"}
    assert "competitions_competition_update_recorded" in query(tmp_path, "SELECT name FROM sqlite_master")
    assert "add_competition" in query(tmp_path, "SELECT codename FROM auth_permission")

    # 3. no migration is left
    assert "ended with" not in checked.printed


def query(state: Path, statement: str) -> list[str]:
    """Return the first column of the answer."""
    with closing(sqlite3.connect(state / "site.sqlite3")) as database:
        return [row[0] for row in database.execute(statement)]
