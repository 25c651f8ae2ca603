"""Parts by format: registered once, and looked up by the competition's format."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from core.errors import Fault
from core.parts_by_format import ByFormat


def test_a_registered_part_is_found_by_the_format_of_a_competition() -> None:
    parts: ByFormat[int] = ByFormat()
    parts.register("query", 1)
    parts.register("transfer", 2)
    assert parts.of(SimpleNamespace(format="transfer")) == 2
    assert list(parts) == ["query", "transfer"]
    assert "curves" not in parts


def test_a_part_may_be_imported_when_somebody_asks_for_it_and_every_holder_of_its_kind_finds_it() -> None:
    ByFormat[object]("a test").register("query", "core.errors.NoSuchClass")
    assert list(ByFormat[object]("a test")) == ["query"]
    with pytest.raises(ImportError, match="NoSuchClass"):
        ByFormat[object]("a test")["query"]
    parts: ByFormat[object] = ByFormat()
    parts.register("query", "types.SimpleNamespace")
    assert parts["query"] == SimpleNamespace()
    assert parts["query"] is parts["query"]


def test_a_format_is_registered_once() -> None:
    parts: ByFormat[int] = ByFormat()
    parts.register("query", 1)
    with pytest.raises(ValueError, match="registered twice"):
        parts.register("query", 2)


def test_an_unknown_format_is_a_fault_that_names_those_of_the_site() -> None:
    parts: ByFormat[int] = ByFormat()
    parts.register("query", 1)
    with pytest.raises(Fault, match="'curves', only: query"):
        parts["curves"]
