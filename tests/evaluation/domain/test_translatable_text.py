"""Texts that can be shown in another language."""

from __future__ import annotations

from evaluation.domain.translatable_text import Text, listed


def test_it_works() -> None:
    text = Text("within %(distance)s, %(count)s samples", distance=0.5, count=1200)
    assert text == "within 0.5, 1,200 samples"
    assert (text.message, text.values) == ("within %(distance)s, %(count)s samples", {"distance": 0.5, "count": 1200})


def test_a_text_without_values_is_its_message() -> None:
    assert Text("the 95 % interval") == "the 95 % interval"


def test_texts_are_listed_with_commas() -> None:
    assert listed([Text("new samples")]) == "new samples"
    assert listed([Text("pool %(number)s", number=2), Text("new samples"), Text("end")]) == "pool 2, new samples, end"
