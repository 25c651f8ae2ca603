"""What the query format adds to lower apps, connected by `formats.query.format`."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from core import worker_notifications
from formats.query.matches.signals import match_ended


@receiver(match_ended)
def advance_round(**signal: Any) -> None:
    """Notify a worker that takes the rounds' next steps."""
    worker_notifications.notify("rounds.advance")
