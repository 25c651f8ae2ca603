"""How often Python looks for cycles of unused objects in the site's processes."""

from __future__ import annotations

import atexit
import gc

NEW_OBJECTS = 25_000
"""Net new objects between two searches; Python's default is 700."""


def collect_less_often() -> None:
    """Let more objects be made between two searches, and search for nothing when the program ends.

    A program of the site makes 150,000 objects when it starts, and all of them stay: with the default, a fifth of the
    processor time of the start, and more of a migration's, is spent on searches that find nothing. The searches at the
    end take longer than half of the start, and the memory is given back without them.
    """
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
