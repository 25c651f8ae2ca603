"""Celery tasks of accounts. A lost one does no harm."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command


@shared_task(name="accounts.remove_expired_sessions")  # type: ignore[untyped-decorator]
def remove_expired_sessions() -> None:
    """Remove sessions that have ended: nothing else does."""
    call_command("clearsessions")
