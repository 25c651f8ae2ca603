"""Whole rounds by the shipped schedules: they end, stay below their bound, and demand nothing twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.round_state import (
    RoundEntrant,
    RoundFacts,
    SampleRow,
    advance,
    ceiling,
    demanded,
    piece_ends,
    round_parts,
)
from evaluation.formats.query.tournament.schedule_names import schedule_named
from evaluation.formats.query.tournament.schedule_output import most_triples

SAMPLES = 24


def facts(schedule: str, guard: bool, sides: tuple[int, int, int], sweep: bool) -> RoundFacts:
    """Put every third player into a team by its number, so that some pairs are of one team."""
    entrants = tuple(
        RoundEntrant(track, f"{track}-{number}", (f"team {number}",) if number % 3 == 0 else ())
        for track, count in zip(TrackName, sides, strict=True)
        for number in range(count)
    )
    priors = {track: tuple(one.player for one in entrants if one.track is track) for track in TrackName}
    return RoundFacts(schedule, guard, SAMPLES, sweep, entrants, priors, {})


@pytest.mark.parametrize(
    ("schedule", "guard", "sides", "sweep"),
    [
        ("ladder", False, (24, 26, 3), True),
        ("ladder", True, (24, 22, 0), True),
        ("ladder", False, (3, 4, 6), False),
        ("halving", False, (14, 22, 2), True),
        ("halving", False, (1, 1, 1), True),
        ("ladder-2", False, (12, 45, 3), True),
    ],
)
def test_every_schedule_ends_within_its_bound_and_gives_every_player_a_place(
    schedule: str, guard: bool, sides: tuple[int, int, int], sweep: bool
) -> None:
    known = facts(schedule, guard, sides, sweep)
    ends = piece_ends(schedule, SAMPLES, guard)
    chance = np.random.default_rng(3)
    results: dict[tuple[str, str], dict[int, SampleRow]] = {}
    while not (state := advance(known)).over:
        for ask in state.requests:
            rows = results.setdefault((ask.model, ask.attack), {})
            assert len(rows) < ask.upto
            assert ask.upto in ends
            base = 1 + int(ask.model.split("-")[1]) / (1 + int(ask.attack.split("-")[1]))
            for sample in range(len(rows), ask.upto):
                rows[sample] = SampleRow(Outcome.ADVERSARIAL, base * float(chance.lognormal()), 1)
        known = replace(known, results=results)

    assert demanded(known, state) == {pair: len(rows) for pair, rows in results.items()}
    played = sum(len(rows) for rows in results.values())
    parts = round_parts(
        schedule_named(schedule, guard=guard), SAMPLES, dict(zip(TrackName, sides, strict=True)), sweep=sweep
    )
    assert played <= most_triples(part.most for part in parts) <= ceiling(known)
    if schedule != "ladder":  # panels may share members, and all others meet all
        assert played == most_triples(part.most for part in parts)
    for track, count in zip(TrackName, sides, strict=True):
        places = [place for place in state.places if place.track is track]
        assert [place.place for place in places] == list(range(1, count + 1))
        assert {place.player for place in places} == set(known.priors[track])
        # scores stand first: those of the last stage that met other teams
        scored = [place.value is not None for place in places]
        assert scored == sorted(scored, reverse=True)
