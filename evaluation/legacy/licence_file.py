"""The licence of a repository, from its licence file: submissions of 2018 have no other field for it."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

UNKNOWN = "unknown"
"""The licence of a repository without a licence file that is recognised: it may be played, but not in a final."""

FILE_NAMES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "LICENCE.md", "COPYING")

_MOST_BYTES = 64 << 10

# all of the phrases stand in the text of the licence, in small letters with single spaces. Licences name each other, so
# the one counts whose first phrase comes first in the text, of several the first here
_PHRASES = (
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("AGPL-3.0-only", ("gnu affero general public license", "version 3")),
    ("LGPL-3.0-only", ("gnu lesser general public license", "version 3")),
    ("LGPL-2.1-only", ("gnu lesser general public license", "version 2.1")),
    ("LGPL-2.0-only", ("gnu library general public license", "version 2")),
    ("GPL-3.0-only", ("gnu general public license", "version 3")),
    ("GPL-2.0-only", ("gnu general public license", "version 2")),
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("MIT", ("permission is hereby granted, free of charge", "the above copyright notice and this permission notice")),
    ("BSD-3-Clause", ("redistribution and use in source and binary forms", "neither the name")),
    ("BSD-2-Clause", ("redistribution and use in source and binary forms",)),
    ("Unlicense", ("this is free and unencumbered software released into the public domain",)),
)


def licence_of(source: Path) -> str:
    """Return the SPDX identifier of the licence file at the top of `source`; `UNKNOWN` without one."""
    for name in FILE_NAMES:
        path = source / name
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                return licence_in(file.read(_MOST_BYTES).decode("utf-8", "replace"))
    return UNKNOWN


def licence_in(text: str) -> str:
    """Return the SPDX identifier of a licence's text, or `UNKNOWN`."""
    plain = " ".join(text.lower().split())
    found = [
        (plain.index(phrases[0]), name) for name, phrases in _PHRASES if all(phrase in plain for phrase in phrases)
    ]
    return min(found, key=itemgetter(0), default=(0, UNKNOWN))[1]
