"""What a pusher reads, as `remote:` lines."""

from __future__ import annotations

from datetime import datetime, timedelta

from core.errors import Refusal, RefusedForNow
from core.times import in_words

FAULT = "Gauntlet: a fault of ours, nothing was recorded, please push again"
LATE_FAULT = "Gauntlet: your push is stored; the rest of its work follows by itself within a minute"


def refusal_text(refusal: Refusal, now: datetime) -> str:
    """A refused push in a few lines: what happened to it, why, how to mend it and from when it is taken."""
    lines = ["Gauntlet: refused; nothing was recorded and no slot was used.", f"  problem: {refusal.problem}"]
    if refusal.fix:
        lines.append(f"  fix: {refusal.fix}")
    if isinstance(refusal, RefusedForNow):
        at = refusal.accepted_from
        lines.append(f"  accepted again from {in_words(at)} (in {_span(at - now)})")
    return "\n".join(lines)


def printable(text: str) -> str:
    """`text` without anything that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _span(left: timedelta) -> str:
    minutes = max(int(-(-left.total_seconds() // 60)), 0)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"
