"""The value of the option `--key`: the organisers' public key."""

from __future__ import annotations

import re
from pathlib import Path

from evaluation.domain.errors import Refusal


def given_key(given: str) -> str:
    """Return the key itself, or the one in the named file. Errors never repeat the value: it may be a secret."""
    if re.fullmatch(r"[0-9a-fA-F]{64}", given):
        return given.lower()
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Refusal("--key is neither 64 hexadecimal digits nor a readable text file") from None
    found: set[str] = set(re.findall(r"\b[0-9a-f]{64}\b", text.lower()))
    if len(found) != 1:
        raise Refusal("the file of --key does not contain exactly one public key of 64 hexadecimal digits")
    return found.pop()
