"""The site's clock. All code uses it, so that tests can set the time in one place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import connection
from django.db.models import DateTimeField, Expression, Value
from django.db.models.functions import Now
from django.utils import timezone


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return timezone.now()


def database_now() -> datetime:
    """Return the current time of the database server, which all hosts share. With SQLite, return the host's time.

    Use it for times of different hosts that are compared. Read under the lock that orders such times, it is later than
    the time read by the previous holder of the lock.
    """
    if connection.vendor == "sqlite":
        return now()
    with connection.cursor() as cursor:
        # not now(), which returns the start of the transaction
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment.astimezone(UTC)


def database_time() -> Expression:
    """Return the time of `database_now` as an expression, for a statement that needs no other one before it."""
    return Value(now(), output_field=DateTimeField()) if connection.vendor == "sqlite" else Now()


def database_started_within(period: timedelta) -> bool:
    """Return True if the database server started less than `period` ago. With SQLite there is none: False."""
    if connection.vendor == "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_postmaster_start_time() > clock_timestamp() - make_interval(secs => %s)",
            [period.total_seconds()],
        )
        return bool(cursor.fetchone()[0])


def compare() -> tuple[datetime, float]:
    """Return the time of `database_now`, and the seconds by which this host's clock is ahead of it (negative: behind).

    The error is at most half of the database's response time.
    """
    before = now()
    shared = database_now()
    after = now()
    return shared, ((before - shared) + (after - shared)).total_seconds() / 2
