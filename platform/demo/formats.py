"""What of the demo differs by the format of its competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from rich.console import Console

from competitions.models import Competition
from core.parts_by_format import ByFormat
from demo.submission_result import DemoResult
from demo.virtual_teams import VirtualTeam
from rounds.models import Round


class SeasonFormat(Protocol):
    """How the rounds of the demo's season are planned, and what is printed of them."""

    @property
    def plan(self) -> Mapping[str, str]:
        """Fields of the form that plans a round, besides those of all formats."""

    def cost(self, planned: Round) -> str:
        """Describe how much a round plays at most, from its start."""

    def progress(self, started: Round) -> Callable[[], str]:
        """Return what describes how far a round is, at each call."""

    def print_preview(self, scored: Round, console: Console) -> None:
        """Print what publishing a round would change."""

    def changes(self, published: Round) -> Iterator[str]:
        """Yield a line for each thing that publishing a round has changed."""

    def awaited(self) -> str:
        """Describe what leaderboards still wait for since a round was published, "" if for nothing."""

    def print_standings(self, published: Round, console: Console) -> None:
        """Print the standings of a round."""


class DemoFormat(Protocol):
    """Who plays a competition of the format, and how its results are read."""

    @property
    def teams(self) -> Sequence[VirtualTeam]:
        """The virtual teams. A competition has only those whose entries work on its images."""

    @property
    def reader(self) -> VirtualTeam:
        """The team of the person who started the demo."""

    @property
    def season(self) -> SeasonFormat | None:
        """What `--full` plays, None if it can play no rounds."""

    def rules_for(self, rules: Mapping[str, Any], samples: int) -> Mapping[str, Any]:
        """Return the rules with what a set of at most `samples` samples needs."""

    def settings(self, rules: Mapping[str, Any], samples: int) -> str:
        """Describe how the demo is smaller than the competition that the format comes from."""

    def under_way(self, competition: Competition) -> int:
        """Return the number of submissions, and of baselines that count, that have not reached their end."""

    def results(self, competition: Competition) -> Iterator[DemoResult]:
        """Yield what has ended so far, in the order in which it ended."""

    def played(self, competition: Competition) -> Mapping[int, tuple[int, int]]:
        """Return the matches of each submission that is played now, by its key: played, in all; none if not counted."""

    def print_boards(self, competition: Competition, console: Console) -> None:
        """Print the leaderboard of each track."""


demos: ByFormat[DemoFormat] = ByFormat("demo")
"""The demo of each format."""
