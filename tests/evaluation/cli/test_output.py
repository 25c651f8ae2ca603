"""Tables of names that people chose: of directories, teams and titles."""

from __future__ import annotations

import pytest

from evaluation.cli.output import print_facts, print_table


def test_brackets_in_names_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("mine[v1]", ("[b]",), [("mine[v2]",), ("mine[/v3]",)], text=(0,))
    print_facts([("written to", "out[v4]")])
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("mine[v1]", "[b]", "mine[v2]", "mine[/v3]", "out[v4]"))


def test_bytes_that_are_no_text_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("Table", ("",), [(b"r\xe9sum\xe9".decode(errors="surrogateescape"),)])
    assert "r\ufffdsum\ufffd" in capsys.readouterr().out


def test_a_table_may_have_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("Matches", ("match", "samples"), [], text=(0,))
    assert "samples" in capsys.readouterr().out
