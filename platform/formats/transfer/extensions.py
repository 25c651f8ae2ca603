"""What the transfer format adds to lower apps, connected by `formats.transfer.format`."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from core import worker_notifications
from formats.transfer.tournaments.signals import field_played


@receiver(field_played)
def advance_round(**signal: Any) -> None:
    """Notify a worker that takes the rounds' next steps."""
    worker_notifications.notify("rounds.advance")
