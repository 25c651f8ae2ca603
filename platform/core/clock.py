"""The time of the site. Whoever needs it calls `clock.now()`, so that tests can set it in one place."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connection
from django.utils import timezone


def now() -> datetime:
    """The time now, aware, in UTC."""
    return timezone.now()


def database_now() -> datetime:
    """The time now by the database server's clock, which all hosts share. With SQLite there is one host, and its clock.

    For moments of different hosts that are compared with each other. Who reads it under the lock that orders these
    moments gets a later time than whoever held the lock before.
    """
    if connection.vendor == "sqlite":
        return now()
    with connection.cursor() as cursor:
        # not now(), which is when the transaction began
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment.astimezone(UTC)


def compare() -> tuple[datetime, float]:
    """The time by `database_now`, and by how many seconds this host's clock is ahead of it (negative: behind).

    The answer is off by up to half the time that the database takes to reply.
    """
    asked = now()
    shared = database_now()
    answered = now()
    return shared, ((asked - shared) + (answered - shared)).total_seconds() / 2
