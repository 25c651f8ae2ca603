"""The tables of a new database. That they are those of the migrations, a journey checks on both databases."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection

Migrate = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state folder of a new site, with its database."""
    return tmp_path


@pytest.fixture
def migrate(root: Path, state: Path) -> Migrate:
    """`manage.py migrate` on that site."""
    environment = os.environ | {"GAUNTLET_STATE": str(state), "DATABASE_URL": "", "GAUNTLET_BROKER": ""}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", "migrate", *arguments]
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)

    return run


def query(state: Path, statement: str) -> list[str]:
    """Return the first column of the answer."""
    with closing(sqlite3.connect(state / "site.sqlite3")) as database:
        return [row[0] for row in database.execute(statement)]


def tables(state: Path) -> set[str]:
    return set(query(state, "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'sqlite_sequence'"))


def test_a_new_database_gets_all_tables_and_no_migration_is_left(state: Path, migrate: Migrate) -> None:
    printed = migrate().stdout
    assert "Made the tables of a new database" in printed
    assert "No migrations to apply" in printed
    assert "not yet reflected in a migration" not in printed
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.can_migrate(connection)]
    assert tables(state) == {model._meta.db_table for model in models} | {"django_migrations"}
    # and what follows every migration
    assert "competitions_competition_update_recorded" in query(state, "SELECT name FROM sqlite_master")
    assert "add_competition" in query(state, "SELECT codename FROM auth_permission")
    again = migrate("--check")
    assert again.returncode == 0, again.stderr


def test_a_failure_leaves_the_database_new(state: Path, migrate: Migrate) -> None:
    query(state, "CREATE VIEW workers_host AS SELECT 1")
    failed = migrate()
    assert "workers_host" in failed.stderr
    assert tables(state) == set()


def test_a_plan_makes_nothing(state: Path, migrate: Migrate) -> None:
    assert "competitions.0001_initial" in migrate("--plan").stdout
    assert tables(state) == set()
