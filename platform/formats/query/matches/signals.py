"""Signals of matches. Higher apps connect receivers in `AppConfig.ready`, so that none is named here."""

from __future__ import annotations

from django.dispatch import Signal

match_ended = Signal()
"""Sent in the transaction in which a match is played or fails."""
