"""The text of a competition's file: parsed, and written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from core.errors import Refusal

MOST_BYTES = 1 << 20
"""Of a file that is uploaded: ten times the largest one that comes with the site."""


def parsed(content: bytes, name: str) -> dict[str, Any]:
    """Return the content of a file called `name`. Raise `Refusal` naming the line that is not valid."""
    try:
        return tomllib.loads(content.decode("utf-8").replace("\r\n", "\n"))
    except RecursionError as error:
        raise Refusal(f"{name} has too many brackets in brackets", fix="correct the file") from error
    except ValueError as error:
        raise Refusal(f"{name} is not valid TOML in UTF-8: {error}", fix="correct the file") from error


def written(document: Mapping[str, Any]) -> str:
    """Return the text of a competition's file."""
    return tomli_w.dumps(document, multiline_strings=True)
