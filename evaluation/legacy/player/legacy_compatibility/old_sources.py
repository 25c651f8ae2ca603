"""Source code that Python 2 read, and Python 3 of 2017 in part: tabs and spaces, strings before `__future__`."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from importlib.machinery import SourceFileLoader
from typing import Any

_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
_WIDTH = 8  # of a tab, in Python 2


def restore() -> None:
    """Let a program import such modules; `started_script` is for the one that Python itself starts."""
    loader: Any = SourceFileLoader
    loader.source_to_code = reads_old_sources(loader.source_to_code)


def reads_old_sources(source_to_code: Any) -> Any:
    """Return a loader's `source_to_code`, which repairs what Python 3 does not compile."""

    @functools.wraps(source_to_code)
    def code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        try:
            return source_to_code(self, data, path, **options)
        except SyntaxError:
            text = data if isinstance(data, str) else importlib.util.decode_source(bytes(data))
            return source_to_code(self, repaired(text), path, **options)

    return code


def repaired(text: str) -> ast.Module:
    """Return the syntax tree of a source, with a tab for up to eight spaces, and without its second docstring.

    A licence in a string of its own, before the docstring and `from __future__ import`, was common in 2017.
    """
    try:
        tree = ast.parse(text)
    except TabError:
        tree = ast.parse(with_spaces(text))
    while len(tree.body) > 1 and all(map(_is_string, tree.body[:2])):
        del tree.body[1]
    return tree


def with_spaces(text: str) -> str:
    """Return a source text without tabs in its indentation."""
    return _INDENTATION.sub(lambda found: found.group().expandtabs(_WIDTH), text)


def _is_string(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
