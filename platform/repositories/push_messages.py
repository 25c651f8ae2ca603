"""Messages for the pusher, shown as `remote:` lines."""

from __future__ import annotations

from datetime import datetime

from core.errors import Refusal, RefusedForNow
from core.times import in_words, until

FAULT = "Gauntlet: platform error. Nothing was recorded. Please push again."
LATE_FAULT = "Gauntlet: your push is stored. Processing continues within a minute."


def refusal_text(refusal: Refusal, now: datetime) -> str:
    """Format a rejected push: what happened, the cause, the fix, and when a push is accepted again."""
    lines = ["Gauntlet: rejected. Nothing was recorded and no slot was used.", f"  problem: {refusal.problem}"]
    if refusal.fix:
        lines.append(f"  fix: {refusal.fix}")
    if isinstance(refusal, RefusedForNow):
        at = refusal.accepted_from
        lines.append(f"  accepted again from {in_words(at)} ({until((at - now).total_seconds())})")
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return `text` with control characters escaped, so that a terminal does not act on them."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
