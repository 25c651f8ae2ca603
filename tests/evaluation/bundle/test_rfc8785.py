"""The canonical form of RFC 8785, against the package of the same name."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.bundle.rfc8785 import MOST_EXACT, canonical, read

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-MOST_EXACT, MOST_EXACT) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(VALUES)
def test_it_writes_what_the_package_writes(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)
    assert canonical(read(canonical(value))) == canonical(value)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"), (-0.0, "0"), (0.1, "0.1"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-6, "0.000001"),
        (1e-7, "1e-7"), (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"), (333333333.33333329,
        "333333333.3333333"), (9007199254740993.0, "9007199254740992"), (-1.5e-9, "-1.5e-9"), (123.0, "123"),
    ],
)  # fmt: skip
def test_numbers_are_those_of_ecmascript(number: float, text: str) -> None:
    assert canonical(number).decode() == text


def test_keys_are_sorted_by_utf_16() -> None:
    assert canonical({"\ufb33": 1, "\U0001f600": 2, "a": 3}) == '{"a":3,"\U0001f600":2,"\ufb33":1}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, {"a": "\ud800"}])
def test_what_other_readers_would_read_otherwise_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        canonical(value)
