"""SPDX licence expressions."""

from __future__ import annotations

import difflib
from functools import lru_cache

from license_expression import ExpressionError, Licensing, get_spdx_licensing


@lru_cache(maxsize=1)
def _licensing() -> Licensing:
    return get_spdx_licensing()


def is_identifier(text: str) -> bool:
    """Return True for the identifier of one licence as SPDX writes it, which is its own normal form.

    It is looked up and not parsed, so the length of `text` alone bounds the cost.
    """
    symbol = _licensing().known_symbols.get(text)
    return symbol is not None and not symbol.is_exception


def normal_licence(expression: str) -> str:
    """Return `expression` in SPDX's normal form. Raise `ValueError` with the unknown part.

    >>> normal_licence("mit or apache-2.0")
    'MIT OR Apache-2.0'
    """
    if is_identifier(expression):
        return expression
    if not expression.strip():
        raise ValueError("licence is empty")
    licensing = _licensing()
    try:
        unknown = licensing.unknown_license_keys(expression)
        if not unknown:
            return str(licensing.parse(expression, validate=True, strict=True).render())
    except (ExpressionError, AttributeError, IndexError, AssertionError) as error:
        # for some broken expressions, such as (), the parser raises the last three
        raise ValueError(f"licence {expression!r} is not an SPDX expression") from error
    keys = {str(key).lower(): str(key) for key in licensing.known_symbols}
    near = difflib.get_close_matches(str(unknown[0]).lower(), keys, n=1)
    hint = f"; did you mean {keys[near[0]]!r}?" if near else ""
    raise ValueError(f"unknown licence {str(unknown[0])!r}{hint}")
