"""Texts that keep their message and values, so that a site can show them in another language."""

from __future__ import annotations


class Text(str):
    """An English text: its `message`, with the `values` in place of `%(name)s`, if any. A value may be a text, too.

    It is used as any other string, in CSV files for example. Only where a page shows it, it is translated.
    """

    message: str
    values: dict[str, str | float]

    def __new__(cls, message: str, **values: str | float) -> Text:
        """Return the text in English."""
        filled = message % {name: written(value) for name, value in values.items()} if values else message
        text = super().__new__(cls, filled)
        text.message, text.values = message, values
        return text


def written(value: str | float) -> str:
    """Return a value as it stands in a text: a number with at most six digits if it is not whole."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def listed(texts: list[Text]) -> Text:
    """Return texts as one, with commas between them."""
    first, *others = texts
    return Text("%(first)s, %(others)s", first=first, others=listed(others)) if others else first
