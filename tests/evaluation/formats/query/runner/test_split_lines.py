"""Lines of an output that comes in pieces."""

from __future__ import annotations

from evaluation.formats.query.runner.line_splitter import LineSplitter


def lines_of(*chunks: bytes) -> list[str]:
    lines: list[str] = []
    splitter = LineSplitter(lines.append)
    for chunk in chunks:
        splitter.feed(chunk)
    splitter.close()
    return lines


def test_lines_are_put_together_from_pieces() -> None:
    assert lines_of(b"one\ntw", b"o\n\nth", b"ree") == ["one", "two", "", "three"]


def test_a_carriage_return_ends_a_line_and_a_newline_after_it_ends_none() -> None:
    assert lines_of(b"1 %\r2 %\r", b"\nnext\r", b"last\r") == ["1 %", "2 %", "next", "last"]


def test_a_character_may_be_cut_in_two() -> None:
    assert lines_of(b"gr\xc3", b"\xbcn \xff\n") == ["gr\u00fcn \ufffd"]


def test_a_line_without_an_end_is_not_kept_for_ever() -> None:
    lines: list[str] = []
    splitter = LineSplitter(lines.append)

    for _ in range(40):
        splitter.feed(b"x" * 4096)

    assert sum(map(len, lines)) == 2 * 65536


def test_another_output_may_follow() -> None:
    lines: list[str] = []
    splitter = LineSplitter(lines.append)
    for output in (b"first, cut at \xc3", b"second"):
        splitter.feed(output)
        splitter.close()

    assert lines == ["first, cut at \ufffd", "second"]
