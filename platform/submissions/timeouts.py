"""How long a submission may stay in each state that is not final."""

from __future__ import annotations

from datetime import timedelta

RECEIVED = timedelta(hours=24)
"""Until a builder takes it. Past it builders are missing: a platform error, refunded, and it waits on."""

RESERVED = timedelta(seconds=60)
"""How long a reserved slot may wait for its push to end before a sweep looks what became of it."""

UNSETTLED = timedelta(hours=24)
"""For so long a sweep tries to find out what became of the push of a reserved slot; past it the slot is refunded."""

LATE_TAG = timedelta(hours=24)
"""For so long after its slot was given back a sweep still looks for the tag of a push."""
