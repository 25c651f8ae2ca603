"""Modules whose lines are indented with tabs and spaces, as Python 2 read them."""

from __future__ import annotations

import functools
import importlib.util
import re
from importlib.machinery import SourceFileLoader
from typing import Any

_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
_WIDTH = 8  # of a tab, in Python 2


def restore() -> None:
    """Let a program import such modules. The script that Python itself starts is not among them."""
    loader: Any = SourceFileLoader
    loader.source_to_code = reads_tabs(loader.source_to_code)


def reads_tabs(source_to_code: Any) -> Any:
    """Return a loader's `source_to_code`, which takes a tab for up to eight spaces where Python 3 raises TabError."""

    @functools.wraps(source_to_code)
    def code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        try:
            return source_to_code(self, data, path, **options)
        except TabError:
            text = data if isinstance(data, str) else importlib.util.decode_source(bytes(data))
            return source_to_code(self, with_spaces(text), path, **options)

    return code


def with_spaces(text: str) -> str:
    """Return a source text without tabs in its indentation."""
    return _INDENTATION.sub(lambda found: found.group().expandtabs(_WIDTH), text)
