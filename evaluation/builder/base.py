"""Port of the builders, which make a player of a directory at a commit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from evaluation.domain.players import QueryPlayer

LogLine: TypeAlias = Callable[[str], None]
"""Called with each line of a build's log as it appears, without the newline."""


class Builder(ABC):
    """A way to build submissions."""

    @abstractmethod
    def build(self, source: Path, *, on_log: LogLine) -> QueryPlayer:
        """Build the submission in `source`. Raise `ManifestRefusal` or `BuildRefusal` with the fix, or `Fault`."""

    @abstractmethod
    def check_host(self) -> None:
        """Raise `Fault` where no build can succeed on this host now."""
