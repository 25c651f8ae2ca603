"""Signals of submissions. Higher apps connect receivers in `AppConfig.ready`, so that none is named here."""

from __future__ import annotations

from django.dispatch import Signal

submission_ready = Signal()
"""Sent with `submission` in the transaction that makes it ready."""

eligibility_changed = Signal()
"""Sent with `submission` in the transaction that withdraws, disqualifies or reinstates it."""
