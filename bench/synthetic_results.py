"""A round with drawn distances: its field, and the results of requests. The same in every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bench.sizes import sized
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.round_state import Request, RoundEntrant, RoundFacts, SampleRow
from evaluation.formats.query.tournament.simulated_players import PLAYERS, REGIMES, World

QUERIES = 1000

Results = Mapping[tuple[str, str], Mapping[int, SampleRow]]


@dataclass(frozen=True)
class Field:
    """How many play on each side of a round, and on how many samples."""

    models: int
    untargeted: int
    targeted: int
    samples: int

    @property
    def sides(self) -> Mapping[TrackName, int]:
        """The number of players of each track."""
        return dict(zip(TrackName, (self.models, self.untargeted, self.targeted), strict=True))

    def row(self, model: str, attack: str, sample: int) -> SampleRow:
        """Return the result of a triple, drawn in the simulator's base regime."""
        distances = _distances(self, attack.startswith(digest(TrackName.TARGETED, 0)[:-3]))
        return SampleRow(Outcome.ADVERSARIAL, float(distances[int(model[-3:]), int(attack[-3:]), sample]), QUERIES)


FIELD = sized(Field(100, 100, 20, samples=200), smallest=Field(8, 8, 6, samples=20))


def digest(track: str, number: int) -> str:
    """Return the digest of a player; the last three digits are its number."""
    return f"sha256:{track}-{number:03d}"


def drawn_facts(schedule: str) -> RoundFacts:
    """Return a final of `FIELD`, with no results, and a sweep at its end."""
    entrants = tuple(
        RoundEntrant(track, digest(track, number), (f"{track}-{number}",))
        for track, count in FIELD.sides.items()
        for number in range(count)
    )
    priors = {track: tuple(one.player for one in entrants if one.track is track) for track in FIELD.sides}
    return RoundFacts(schedule, False, FIELD.samples, True, entrants, priors, {})


def play(results: Results, requests: Iterable[Request]) -> Results:
    """Return `results` with the requested triples of `FIELD` added."""
    played = {pair: dict(rows) for pair, rows in results.items()}
    for ask in requests:
        rows = played.setdefault((ask.model, ask.attack), {})
        for sample in range(len(rows), ask.upto):
            rows[sample] = FIELD.row(ask.model, ask.attack, sample)
    return played


@cache
def _distances(field: Field, targeted: bool) -> NDArray[np.float64]:
    """Draw all distances; a world has `PLAYERS` on each side, so that more of them share their strengths."""
    models, attacks = (
        [number % PLAYERS for number in range(count)]
        for count in (field.models, field.targeted if targeted else field.untargeted)
    )
    return World(1 + targeted, REGIMES["base"]).draw(models, attacks, field.samples)
