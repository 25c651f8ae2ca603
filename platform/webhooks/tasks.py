"""Tasks of webhooks. The sweep finds what is due from the database alone, so lost notifications cost only time."""

from __future__ import annotations

from celery import shared_task

from core import worker_notifications
from webhooks import sending
from webhooks.outbox import SEND


@shared_task(name=SEND)  # type: ignore[untyped-decorator]
def send() -> None:
    """Send a batch of deliveries, and have the next one sent if there may be more."""
    if sending.send_due():
        worker_notifications.notify(SEND)


@shared_task(name="webhooks.forget_old")  # type: ignore[untyped-decorator]
def forget_old() -> None:
    """Delete old deliveries."""
    sending.forget_old()
