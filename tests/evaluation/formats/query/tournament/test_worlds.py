from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from evaluation.formats.query.tournament.simulated_players import EVERYBODY, Regime, World, tournament_world

QUIET = Regime(model=0, attack=0, sample=0, model_sample=0, attack_sample=0, pair=0, rest=0, failure=-50)


def test_the_same_world_draws_the_same_distances_and_other_ones_the_next_time() -> None:
    world = tournament_world("base", 7, 0)
    distances = world.draw((3, 4), (5, 6, 7), 8)
    assert distances.shape == (2, 3, 8)
    assert (distances > 0).all()
    again = tournament_world("base", 7, 0)
    assert np.array_equal(again.draw((3, 4), (5, 6, 7), 8), distances)
    assert not np.array_equal(again.draw((3, 4), (5, 6, 7), 8), distances)


def test_an_attack_is_nearer_on_its_surrogates_family() -> None:
    distances = World(1, replace(QUIET, surrogate=1.0)).draw(EVERYBODY, EVERYBODY, 1)[:, :, 0]
    near = np.isclose(distances, 3 / np.e)
    assert (near | np.isclose(distances, 3)).all()
    assert 0.2 < near.mean() < 0.3
    # four families: two models have the same near attacks, or none in common
    assert all((one == other).all() or not (one & other).any() for one, other in combinations(near, 2))
    assert len({tuple(row) for row in near}) == 4


def test_no_tournament_is_another_one() -> None:
    seeds = (0, 1, 1000, 2000, 2**32, 2**64 + 1)
    keys = list(product(("base", "tight", "families"), seeds, (0, 1, 2)))
    standardised = {tuple(np.sign(tournament_world(*key).model)) for key in keys}
    assert len(standardised) == len(keys)


def test_it_rejects_an_unknown_regime() -> None:
    with pytest.raises(KeyError):
        tournament_world("easy", 7, 0)
