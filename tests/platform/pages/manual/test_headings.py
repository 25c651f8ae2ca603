"""Sections of documents, with the marks that GitHub gives their headings."""

from __future__ import annotations

from pages.manual.headings import sections


def test_a_section_has_its_heading_mark_and_text() -> None:
    command = "# The `gauntlet` command\n\nOne [two](there.md)\nthree.\n\n"
    text = f"{command}## *What* is it?\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert [tuple(each) for each in sections(text)] == [
        (1, "The gauntlet command", "the-gauntlet-command", "One two three."),
        (2, "What is it?", "what-is-it", "a b 1 2"),
    ]


def test_headings_with_the_same_words_have_numbers() -> None:
    assert [each.mark for each in sections("# A\n\n## B\n\n## B\n\n### [B](b.md)\n")] == ["a", "b", "b-1", "b-2"]


def test_code_is_text_and_has_no_headings() -> None:
    (section,) = sections("# A\n\n```sh\n# no heading\ngit push\n```\n")
    assert section.text == "# no heading git push"


def test_text_without_a_heading_has_no_section() -> None:
    assert sections("Only text.\n") == []
