"""How large a round may be planned."""

from __future__ import annotations

import pytest

from evaluation.domain.errors import Refusal
from evaluation.domain.players import TrackName
from evaluation.formats.query.bundle.size_check import check_size
from evaluation.formats.query.tournament.round_state import RoundEntrant, RoundFacts


def facts(models: int, attacks: int, samples: int, schedule: str = "ladder", targeted: int = 0) -> RoundFacts:
    """A final that begins with so many players of teams of their own."""
    counts = dict(zip(TrackName, (models, attacks, targeted), strict=True))
    named = {track: tuple(f"{track}-{number}" for number in range(count)) for track, count in counts.items()}
    entrants = tuple(RoundEntrant(track, name, (name,), False) for track, names in named.items() for name in names)
    return RoundFacts(schedule, False, samples, True, entrants, named, {})


def check(round_: RoundFacts) -> None:
    check_size(round_, query_budget=1000, piece_samples=10)


@pytest.mark.parametrize(
    ("models", "attacks", "samples", "schedule", "targeted"),
    [
        (100, 100, 500, "halving", 100),
        (100, 100, 500, "ladder", 100),
        (300, 300, 200, "ladder", 0),
        # the field of 2018
        (352, 96, 500, "halving", 63),
        (0, 0, 40, "ladder", 0),
    ],
)
def test_rounds_of_the_sizes_that_are_played_pass(
    models: int, attacks: int, samples: int, schedule: str, targeted: int
) -> None:
    check(facts(models, attacks, samples, schedule, targeted))


@pytest.mark.parametrize(
    ("models", "attacks", "samples", "schedule", "targeted", "problem"),
    [
        (1001, 1, 10, "ladder", 0, "1,001 players of one track, and at most 1,000"),
        (1000, 1000, 51, "ladder", 0, "are more than the 50,000,000 results"),
        (500, 500, 200, "ladder-2", 0, "lines for its 250,000 pairs"),
        (400, 300, 100, "halving", 0, "MiB of lines, and at most 61 MiB"),
        (500, 400, 100, "halving", 0, "results, and at most 2,000,000"),
    ],
)
def test_it_rejects_what_could_not_be_verified(
    models: int, attacks: int, samples: int, schedule: str, targeted: int, problem: str
) -> None:
    with pytest.raises(Refusal, match=problem) as refusal:
        check(facts(models, attacks, samples, schedule, targeted))
    assert refusal.value.fix


def test_it_rejects_a_budget_that_a_column_cannot_hold() -> None:
    with pytest.raises(Refusal, match="4,294,967,296 is above"):
        check_size(facts(2, 2, 10), query_budget=2**32, piece_samples=10)
