"""The competition that the demo plays."""

from __future__ import annotations

import tomllib
from pathlib import Path

from demo.demo_site import with_at_most


def test_it_works(root: Path) -> None:
    """With a number of samples, every set that matches are played on is smaller, and sets stay disjoint."""
    document = tomllib.loads((root / "competitions" / "avc-2018.toml").read_text(encoding="utf-8"))
    smaller = {each["name"]: each for each in with_at_most(4, document)["sample_sets"]}
    assert {name: each["count"] for name, each in smaller.items()} == {
        "development": 500,
        "validation": 4,
        "test-1": 4,
        "test-2": 4,
        "final": 4,
    }
    assert [smaller[each["name"]].get("skip", 0) for each in document["sample_sets"]] == [0, 500, 700, 900, 1100]
    assert with_at_most(None, document) == document
    assert document["sample_sets"][1]["count"] == 200, "the file's own numbers stay"
