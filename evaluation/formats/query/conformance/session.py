"""Session: one connection of a player under test, and its checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evaluation.domain.players import TrackName
from evaluation.formats.query.conformance.launcher import LaunchedPlayer
from evaluation.formats.query.conformance.steps import Step
from evaluation.formats.query.rules import QueryRules


@dataclass(frozen=True)
class ConformanceSession:
    """The content of WELCOME (`budget` is 0 for a model), and `steps`, the checks that follow it.

    `steps` takes the player, the rules (shape and classes) and the seconds for each answer or piece.
    """

    track: TrackName
    budget: int
    steps: Callable[[LaunchedPlayer, QueryRules, float], list[Step]]
