"""Signals of tournaments, for higher apps."""

from __future__ import annotations

from django.dispatch import Signal

field_played = Signal()
"""Everybody of a fixed field has met everybody. Sent with `tournament`; it may be sent again."""
