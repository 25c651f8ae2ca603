"""Tabs and spaces as Python 2 read them."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from typing import Any

import pytest

from legacy_compatibility.tabs import reads_tabs, with_spaces

MIXED = b"def f(x):\n    if x:\n\treturn 'a\tb'\n    return None\n"


def run(source: bytes) -> dict[str, Any]:
    loader: Any = SourceFileLoader("net", "net.py")
    names: dict[str, Any] = {}
    exec(reads_tabs(SourceFileLoader.source_to_code)(loader, source, "net.py"), names)  # noqa: S102 - it is a loader
    return names


def test_it_works() -> None:
    with pytest.raises(TabError):
        compile(MIXED, "net.py", "exec")
    assert run(MIXED)["f"](1) == "a\tb"


def test_a_tab_ends_at_the_next_eighth_column() -> None:
    assert with_spaces("  \tx\n\t y\tz") == "        x\n         y\tz"


def test_other_errors_are_still_errors() -> None:
    with pytest.raises(SyntaxError, match="print"):
        run(b"print 'x'")
