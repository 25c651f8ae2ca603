"""Python's searches for cycles of unused objects in the programs of the site."""

from __future__ import annotations

import gc

from config.garbage_collection import NEW_OBJECTS


def test_they_are_rare_from_the_start() -> None:
    """The settings load the package `config`, here as in every program of the site."""
    assert gc.isenabled()
    assert gc.get_threshold()[0] == NEW_OBJECTS
