"""A dump of the whole database, as it was at one moment, while others write; and an empty database filled from it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.db import connection

from core.errors import Fault, Refusal


def kind() -> str:
    """Return "postgresql" or "sqlite": a dump of one cannot be read by the other."""
    return connection.vendor


def dump(file: Path) -> None:
    """Write the database into `file`. Raise `Fault` where it fails."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(file)) as copy:
            connection.connection.backup(copy)
    else:
        # not compressed: restic compresses, and finds what is the same as in the last dump
        _program("pg_dump", "--format=custom", "--compress=0", "--no-owner", "--no-privileges", f"--file={file}")


def require_empty() -> None:
    """Raise `Refusal` if the database has a table."""
    if connection.introspection.table_names():
        raise Refusal(
            "the database is not empty, and a restore would mix two sites",
            fix="create an empty database, and name it in DATABASE_URL",
        )


def load(file: Path) -> None:
    """Fill the empty database from `file`: completely, or not at all. Raise `Fault` where it fails."""
    if connection.vendor == "sqlite":
        connection.close()
        path = Path(settings.DATABASES["default"]["NAME"])
        for old in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            old.unlink(missing_ok=True)
        partial = path.with_name(path.name + ".partial")
        shutil.copyfile(file, partial)
        partial.replace(path)
    else:
        options = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
        _program("pg_restore", *options, f"--dbname={connection.settings_dict['NAME']}", str(file))
        with connection.cursor() as cursor:  # a new database has no statistics, and leaderboards are slow without
            cursor.execute("ANALYZE")


def _program(name: str, *arguments: str) -> None:
    """Run a client program of PostgreSQL on the site's database; the password is in its environment."""
    given = connection.settings_dict
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    variables = os.environ | {variable: str(given[key]) for variable, key in names.items() if given[key]}
    try:
        done = subprocess.run([name, *arguments], env=variables, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Refusal(f"{name} is not installed", fix="install it: apt-get install postgresql-client") from error
    if done.returncode:
        raise Fault(f"{name}: {done.stderr.strip()[-2000:] or f'status {done.returncode}'}")
