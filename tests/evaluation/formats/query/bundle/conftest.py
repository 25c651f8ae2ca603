"""A small final, played to its end by the shipped schedule: twelve of each side, two targeted attacks, one warning.

Its bundle is one of lines, unless a test asks for one in parts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.canonical_json import commitment_of
from evaluation.bundle.signing import sign
from evaluation.domain.players import TrackName
from evaluation.formats.query.bundle.writer import (
    FORMAT,
    OF_LINES,
    BundleHead,
    BundlePiece,
    BundleSample,
    Record,
    field_commitment_of,
)
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.tournament.round_state import RoundEntrant, RoundFacts, SampleRow, advance
from tests.evaluation.bundle.bodies import body

SAMPLES = 16
SEED = bytes(range(32))
FIELD_SALT = "4" * 64
TEAMS = {"model-03": ("owls", "larks"), "attack-04": ("owls",)}


def _entrants() -> tuple[RoundEntrant, ...]:
    named = [(TrackName.MODEL, f"model-{number:02}") for number in range(12)]
    named += [(TrackName.UNTARGETED, f"attack-{number:02}") for number in range(12)]
    named += [(TrackName.TARGETED, f"target-{number:02}") for number in range(2)]
    return tuple(RoundEntrant(track, name, TEAMS.get(name, (f"Käuze {name}",))) for track, name in named)


def _rows(model: str, attack: str, worst: list[float]) -> list[SampleRow]:
    """Later models are more robust, earlier attacks nearer; attack-11 is far from all models but the last."""
    chance = np.random.default_rng([int(model[-2:]), int(attack[-2:]), len(attack)])
    distances = (1 + int(model[-2:])) * (1 + 0.3 * int(attack[-2:])) * chance.lognormal(0, 0.3, SAMPLES)
    if attack == "attack-11":
        distances[:] = 0.01 if model == "model-11" else 1000
    rows = []
    for number, distance in enumerate(distances):
        outcome = Outcome.FAILED if distance > worst[number] else Outcome.ADVERSARIAL
        if number == 5 and model == "model-02":
            outcome = Outcome.CLEAN_WRONG
        scored = {Outcome.CLEAN_WRONG: 0.0, Outcome.FAILED: worst[number]}.get(outcome, float(distance))
        rows.append(SampleRow(outcome, scored, int(chance.integers(1000))))
    return rows


def _pieces(samples: int) -> tuple[BundlePiece, ...]:
    return tuple(BundlePiece(end, f"{end:064x}") for end in (8, 10, SAMPLES) if end <= samples)


@pytest.fixture(scope="session")
def played() -> Record:
    """The record of the finished round."""
    worst = [40.0 + number / 7 for number in range(SAMPLES)]
    hashes = [f"{number:064x}" for number in range(SAMPLES)]
    entrants = _entrants()
    priors = {track: tuple(one.player for one in reversed(entrants) if one.track is track) for track in TrackName}
    failed = {(model, f"attack-0{number}"): (10,) for model in ("model-02", "model-05") for number in range(4)}
    kept = {"model-05": "its labels at the boundary are those of the rounding"}
    facts = RoundFacts("halving", False, SAMPLES, True, entrants, priors, {}, failed, kept)
    results: dict[tuple[str, str], dict[int, SampleRow]] = {}
    while not (state := advance(facts)).over:
        for ask in state.requests:
            rows = dict(enumerate(_rows(ask.model, ask.attack, worst)[: ask.upto]))
            results[ask.model, ask.attack] = rows | results.get((ask.model, ask.attack), {})
        facts = replace(facts, results=results)
    submission = BundleSubmission("", "c0ffee", "a title\nof two lines", "MIT", eligible=True)
    twin = BundleSubmission("larks", "decade", "the same", "", eligible=False, why="no licence was found")
    submissions = {
        one.player: (replace(submission, team=one.teams[0]), *[twin][: len(one.teams) - 1]) for one in entrants
    }
    rules = QueryRules().as_dict()
    eligible = {player: tuple(one.eligible for one in of) for player, of in submissions.items()}
    head = BundleHead("digits", 3, "The final", "final", 1, rules, commitment_of(hashes), FIELD_SALT, "", OF_LINES)
    return Record(
        replace(head, field_commitment=field_commitment_of(head, facts, submissions, eligible)),
        facts,
        tuple(BundleSample(*of) for of in zip(hashes, worst, strict=True)),
        submissions,
        {pair: 2**40 + place for place, pair in enumerate(sorted(results))},
        {pair: _pieces(len(rows)) for pair, rows in results.items()},
        eligible,
    )


@pytest.fixture(scope="session")
def written(played: Record) -> bytes:
    """The body of its bundle."""
    return body(played)


@pytest.fixture(scope="session")
def signed(written: bytes) -> bytes:
    return sign(written, SEED)


@pytest.fixture(scope="session")
def seed() -> bytes:
    """The secret seed of the organisers' key."""
    return SEED


@pytest.fixture(scope="session")
def played_in_parts(played: Record) -> Record:
    """The same round, frozen by this version: its bundle is in parts."""
    head = replace(played.head, format=FORMAT)
    commitment = field_commitment_of(head, played.facts, played.submissions, played.eligible_at_freeze)
    return replace(played, head=replace(head, field_commitment=commitment))
