"""Time limits of the states of a submission that are not final."""

from __future__ import annotations

from datetime import timedelta

RECEIVED = timedelta(hours=24)
"""Until a builder claims it. Beyond it is a platform error: refunded, and it keeps waiting."""

RESERVED = timedelta(seconds=60)
"""Time that a reserved slot waits for its push to end before a sweep settles it."""

UNSETTLED = timedelta(hours=24)
"""Time in which a sweep tries to settle a reserved slot; then the slot is refunded."""

LATE_TAG = timedelta(hours=24)
"""Time after a refund in which a sweep still looks for the tag of the push."""
