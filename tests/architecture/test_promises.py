"""Every promise of docs/promises.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_each_promise_names_tests_that_exist(root: Path) -> None:
    rows = [line for line in (root / "docs" / "promises.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 15
    for row in rows:
        named = NAMED.findall(row)
        assert named, f"no test keeps: {row}"
        for file, name in named:
            assert re.search(rf"^def {name}\(", (root / file).read_text(), re.MULTILINE), f"{file} has no {name}"
