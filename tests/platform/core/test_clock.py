"""The clock that all hosts share."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from core import clock


@pytest.mark.django_db
def test_the_shared_clock_is_that_of_the_database_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(clock, "now", lambda: wrong)
    assert (clock.database_now() == wrong) == (connection.vendor == "sqlite")


@pytest.mark.django_db
def test_the_shared_clock_advances_within_a_transaction() -> None:
    """Unlike PostgreSQL's `now()`, so that a time read after waiting for a lock is later."""
    with transaction.atomic():
        began = clock.database_now()
        assert any(clock.database_now() > began for _ in range(1000))
    assert began.utcoffset() == timedelta(0)
