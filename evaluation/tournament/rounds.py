"""A whole round as values: what is known of it, and everything that follows. Pure; the site and `verify` share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.domain.players import Track
from evaluation.domain.results import Outcome
from evaluation.tournament.plan import Plan


@dataclass(frozen=True)
class RoundEntrant:
    """One player of a track, by its digest, and the teams it belongs to."""

    track: Track
    player: str
    teams: tuple[str, ...]


@dataclass(frozen=True)
class SampleRow:
    """How one sample of a pair ended; `distance` is the scored distance (L2 over pixels / 255)."""

    outcome: Outcome
    distance: float
    queries: int


@dataclass(frozen=True)
class RoundFacts:
    """All that a round's outcome follows from.

    `entrants` stand in order of entry; `priors` name the players of each track, best first. `results` are keyed by
    (model, attack) and then by sample number, 0 to `samples` - 1. `sweep`: in the end the eliminated attacks meet the
    winning models.
    """

    schedule: str
    guard: bool
    samples: int
    sweep: bool
    entrants: tuple[RoundEntrant, ...]
    priors: Mapping[Track, tuple[str, ...]]
    results: Mapping[tuple[str, str], Mapping[int, SampleRow]]


@dataclass(frozen=True)
class Bracket:
    """One tournament of the round: models and untargeted attacks, then the five best models and targeted attacks."""

    track: Track
    """Which attacks play in it: `UNTARGETED` (which also ranks the models) or `TARGETED`."""
    plan: Plan


@dataclass(frozen=True)
class Request:
    """A pair that must be played on the first `upto` samples before anything more can be decided."""

    model: str
    attack: str
    upto: int


@dataclass(frozen=True)
class Place:
    """A player's place in its track when the round is over, from 1.

    The score columns are those of the last stage (paper's median, 95 % bootstrap interval over samples), None for a
    player that was cut before: `stage` then tells where. `not_broken`: a model whose median is the worst case.
    `unseparated`: the interval does not separate it from the next place. `worst_opponent` is a player.
    """

    track: Track
    player: str
    place: int
    stage: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    failures: int | None = None
    worst_opponent: str | None = None
    not_broken: bool = False
    unseparated: bool = False


@dataclass(frozen=True)
class Warned:
    """An eliminated attack that would have broken a winning model: nearer than everybody counted on `nearer` of
    `samples` samples."""

    model: str
    attack: str
    nearer: int
    samples: int


@dataclass(frozen=True)
class RoundState:
    """Where a round stands: either `requests` (not empty), or `places` and `warnings` where it is over."""

    brackets: tuple[Bracket, ...]
    requests: tuple[Request, ...] = ()
    places: tuple[Place, ...] = ()
    warnings: tuple[Warned, ...] = ()
    sweeping: bool = False

    @property
    def over(self) -> bool:
        """Whether everything is decided."""
        return not self.requests
