"""What of the demo differs by the format of its competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from rich.console import Console

from competitions.models import Competition
from core.by_format import ByFormat
from demo.results import Result
from demo.virtual_teams import VirtualTeam


class DemoFormat(Protocol):
    """Who plays a competition of the format, and how its results are read."""

    @property
    def teams(self) -> Sequence[VirtualTeam]:
        """The virtual teams. A competition has only those whose entries work on its images."""

    @property
    def reader(self) -> VirtualTeam:
        """The team of the person who started the demo."""

    @property
    def has_season(self) -> bool:
        """Whether `--full` can play its rounds."""

    def rules_for(self, rules: Mapping[str, Any], samples: int) -> Mapping[str, Any]:
        """Return the rules with what a set of at most `samples` samples needs."""

    def settings(self, rules: Mapping[str, Any], samples: int) -> str:
        """Describe how the demo is smaller than the competition that the format comes from."""

    def under_way(self, competition: Competition) -> int:
        """Return the number of submissions, and of baselines that count, that have not reached their end."""

    def results(self, competition: Competition) -> Iterator[Result]:
        """Yield what has ended so far, in the order in which it ended."""

    def print_boards(self, competition: Competition, console: Console) -> None:
        """Print the leaderboard of each track."""


demos: ByFormat[DemoFormat] = ByFormat()
"""The demo of each format."""
