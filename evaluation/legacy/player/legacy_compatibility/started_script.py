"""The script that Python starts, where Python 3 does not compile it and `old_sources` repairs it.

Python compiles it by itself, beside every loader, so it is started a second time, by `repaired_script`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from typing import List, Optional

from legacy_compatibility.old_sources import repaired

_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
_NO_SCRIPT = re.compile(r"-(?![WX-])[a-zA-Z]*[cm]")  # code, or a module
_RUNNER = "legacy_compatibility.repaired_script"
_SUSPECT = re.compile(rb"^ *\t|^from __future__", re.MULTILINE)


def restart_if_old() -> None:
    """Become `python -m` of the runner if the script of this process needs it; sitecustomize calls it."""
    words: List[str] = getattr(sys, "orig_argv", [])
    place = script_place(words)
    if place is not None and is_old(words[place]):
        os.execv(sys.executable, [sys.executable, *words[1:place], "-m", _RUNNER, *words[place:]])


def script_place(words: List[str]) -> Optional[int]:
    """Return which of the words of a command line of Python is its script; None if it starts none."""
    place = 1
    while place < len(words) and words[place].startswith("-"):
        word = words[place]
        if word == "-" or _NO_SCRIPT.match(word):
            return None
        place += 2 if word in _WITH_VALUE else 1
    return place if place < len(words) else None


def is_old(script: str) -> bool:
    """Return True if Python 3 compiles the script only when it is repaired."""
    try:
        with open(script, "rb") as file:
            content = file.read()
    except OSError:
        return False
    if not _SUSPECT.search(content):
        return False
    try:
        compile(content, script, "exec", dont_inherit=True)
    except SyntaxError:
        return _is_repairable(content, script)
    except ValueError:
        pass  # Python itself says what is wrong
    return False


def _is_repairable(content: bytes, script: str) -> bool:
    try:
        compile(repaired(importlib.util.decode_source(content)), script, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
