"""`queue` under its name in Python 2."""

from __future__ import annotations

from queue import Empty, Full, LifoQueue, PriorityQueue, Queue

__all__ = ["Empty", "Full", "LifoQueue", "PriorityQueue", "Queue"]
