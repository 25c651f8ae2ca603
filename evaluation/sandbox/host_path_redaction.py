"""Removal of this host's paths from texts that people read: a player's output and messages about it."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from evaluation.sandbox.state_directory import state_directory

# one that is not the engine's own; bounded, since players write the text
_ENVIRONMENT = r"(?:/[\w.@+-]{1,255}){1,12}/(lib/python(?=3\.))"


class HostPaths:
    """The paths of this host for a submission's files and for the directories of its run."""

    def __init__(self, directory: Path | None = None) -> None:
        """Take the checkout of the submission as `directory`; its files are shown from the top of the repository."""
        temporary = re.escape(tempfile.gettempdir())
        pairs = [
            *((re.escape(f"{state_directory(name)}/") + "[0-9a-f]+/", "") for name in ("sdk", "legacy-modules")),
            (temporary + r"/gauntlet-scratch-\w+", "/tmp"),  # noqa: S108 - the path that a player sees
            (temporary + r"/gauntlet-\w+/", ""),
            *((re.escape(path), "python") for path in (sys.executable, str(Path(sys.executable).resolve()))),
            *((re.escape(f"{prefix}/lib/python"), "lib/python") for prefix in (sys.prefix, sys.base_prefix)),
            (_ENVIRONMENT, r"\1"),
        ]
        for root in dict.fromkeys((str(directory), str(directory.resolve())) if directory else ()):
            pairs[:0] = [(re.escape(f"{root}/"), ""), (re.escape(root) + r"(?![\w.-])", ".")]
        self._pairs = [(re.compile(pattern), shown) for pattern, shown in pairs]

    def shorten(self, text: str) -> str:
        """Return `text` without them."""
        if "/" not in text:
            return text
        for pattern, shown in self._pairs:
            text = pattern.sub(shown, text)
        return text
