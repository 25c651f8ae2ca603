"""Paths of this host, taken out of what people read: a player's output and our messages about it."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from evaluation.sandbox.state_directory import state_directory


class HostPaths:
    """Shortens the paths that this host has for a submission's files and for what was made to run it."""

    def __init__(self, directory: Path | None = None) -> None:
        """directory: the checkout of the submission; its files are then named from the top of the repository."""
        temporary = re.escape(tempfile.gettempdir())
        pairs = [
            (re.escape(f"{state_directory('sdk')}/") + "[0-9a-f]+/", ""),
            (temporary + r"/gauntlet-scratch-\w+", "/tmp"),  # noqa: S108 - what a player knows it as
            (temporary + r"/gauntlet-\w+/", ""),
            *((re.escape(path), "python") for path in (sys.executable, str(Path(sys.executable).resolve()))),
            *((re.escape(f"{prefix}/lib/python"), "lib/python") for prefix in (sys.prefix, sys.base_prefix)),
        ]
        for root in dict.fromkeys((str(directory), str(directory.resolve())) if directory else ()):
            pairs[:0] = [(re.escape(f"{root}/"), ""), (re.escape(root) + r"(?![\w.-])", ".")]
        self._pairs = [(re.compile(pattern), shown) for pattern, shown in pairs]

    def hidden(self, text: str) -> str:
        """`text` without them."""
        if "/" not in text:
            return text
        for pattern, shown in self._pairs:
            text = pattern.sub(shown, text)
        return text
