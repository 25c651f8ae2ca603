"""A round with drawn distances: its field, and the results of requests. The same in every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bench.sizes import sized
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.rounds import Request, RoundEntrant, RoundFacts, SampleRow
from evaluation.formats.query.tournament.simulated_players import REGIMES, World

SAMPLES = sized(200, smallest=20)
SIDES = sized(
    {TrackName.MODEL: 100, TrackName.UNTARGETED: 100, TrackName.TARGETED: 20},
    smallest={TrackName.MODEL: 8, TrackName.UNTARGETED: 8, TrackName.TARGETED: 6},
)
QUERIES = 1000

Results = Mapping[tuple[str, str], Mapping[int, SampleRow]]


def digest(track: str, number: int) -> str:
    """Return the digest of a player; the last three digits are its number."""
    return f"sha256:{track}-{number:03d}"


def drawn_facts(schedule: str) -> RoundFacts:
    """Return a final of `SIDES` on `SAMPLES` samples, with no results, and a sweep at its end."""
    entrants = tuple(
        RoundEntrant(track, digest(track, number), (f"{track}-{number}",))
        for track, count in SIDES.items()
        for number in range(count)
    )
    priors = {track: tuple(one.player for one in entrants if one.track is track) for track in SIDES}
    return RoundFacts(schedule, False, SAMPLES, True, entrants, priors, {})


def play(results: Results, requests: Iterable[Request]) -> Results:
    """Return `results` with the requested triples added."""
    played = {pair: dict(rows) for pair, rows in results.items()}
    for ask in requests:
        rows = played.setdefault((ask.model, ask.attack), {})
        for sample in range(len(rows), ask.upto):
            rows[sample] = row(ask.model, ask.attack, sample)
    return played


def row(model: str, attack: str, sample: int) -> SampleRow:
    """Return the result of a triple, drawn in the simulator's base regime."""
    distance = float(_distances(TrackName.TARGETED in attack)[int(model[-3:]), int(attack[-3:]), sample])
    return SampleRow(Outcome.ADVERSARIAL, distance, QUERIES)


@cache
def _distances(targeted: bool) -> NDArray[np.float64]:
    everybody = range(max(SIDES.values()))
    return World(1 + targeted, REGIMES["base"]).draw(everybody, everybody, SAMPLES)
