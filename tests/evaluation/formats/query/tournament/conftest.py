"""Fields for the tests of schedules, and a loop that plays them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.formats.query.tournament.schedule_input import Field, ScheduledPlayer
from evaluation.formats.query.tournament.schedule_output import Plan, Schedule

MakeField = Callable[..., Field]
PlayOut = Callable[[Schedule, Field, NDArray[np.float64], int], tuple[Plan, NDArray[np.float64]]]


@pytest.fixture(scope="session")
def make_field() -> MakeField:
    """A field of m0, m1, ... and a0, a1, ...; priors as given, else in order of entry; teams by position."""

    def make(
        shape: tuple[int, ...],
        model_prior: Sequence[int] | None = None,
        attack_prior: Sequence[int] | None = None,
        model_teams: Sequence[int] = (),
        attack_teams: Sequence[int] = (),
        models_given: bool = False,
    ) -> Field:
        def entrants(letter: str, count: int, teams: Sequence[int]) -> tuple[ScheduledPlayer, ...]:
            names = [f"{letter}{number}" for number in range(count)]
            return tuple(
                ScheduledPlayer(name, frozenset({f"team {teams[number]}"}) if number < len(teams) else frozenset())
                for number, name in enumerate(names)
            )

        models, attacks, samples = shape
        return Field(
            entrants("m", models, model_teams),
            entrants("a", attacks, attack_teams),
            tuple(range(models) if model_prior is None else model_prior),
            tuple(range(attacks) if attack_prior is None else attack_prior),
            samples,
            models_given,
        )

    return make


@pytest.fixture(scope="session")
def play_out() -> PlayOut:
    """Play what a schedule wants, in random order and portions, until it has a result; return what was played, too.

    Nothing is played twice, and what is decided stays decided.
    """

    def play(
        schedule: Schedule, field: Field, distances: NDArray[np.float64], seed: int
    ) -> tuple[Plan, NDArray[np.float64]]:
        chance = random.Random(seed)
        played = np.full(distances.shape, np.nan)
        plan = schedule.plan(field, played)
        while plan.result is None:
            triples = [(one.model, one.attack, sample) for one in plan.wanted for sample in one.samples]
            assert triples
            for triple in chance.sample(triples, chance.choice([len(triples), chance.randint(1, len(triples))])):
                assert np.isnan(played[triple]), "asked for twice"
                played[triple] = distances[triple]
            later = schedule.plan(field, played)
            assert later.stages[: len(plan.stages)] == plan.stages
            assert later.demands[: len(plan.demands)] == plan.demands
            plan = later
        assert not plan.wanted
        return plan, played

    return play
