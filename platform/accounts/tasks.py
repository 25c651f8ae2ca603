"""Celery tasks of accounts. A lost one does no harm."""

from __future__ import annotations

from celery import shared_task
from django.contrib.sessions.models import Session

from core import clock


@shared_task(name="accounts.remove_expired_sessions")  # type: ignore[untyped-decorator]
def remove_expired_sessions() -> None:
    """Remove sessions that have ended: nothing else does."""
    Session.objects.filter(expire_date__lt=clock.now()).delete()
