from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.halving import Halving
from evaluation.formats.query.tournament.schedule_output import Demand, OrderedBy, StageDecision, most_triples


def test_players_are_cut_by_their_median_and_the_last_stage_decides_on_all_samples(
    make_field: Any, play_out: Any
) -> None:
    # 11 models, 2 attacks, 30 samples. Before attack 0, model m keeps 10 + m on every sample; model 10 keeps 12.5 on
    # the first ten and 99 then. Attack 1 leaves one more everywhere, so attack 0 is nearest and attack 0 is better.
    near = np.repeat(np.arange(10.0, 21.0)[:, None], 30, axis=1)
    near[10] = [12.5] * 10 + [99.0] * 20
    distances = np.stack((near, near + 1), axis=1)
    field = make_field((11, 2, 30))
    plan, _ = play_out(Halving(), field, distances, 1)

    first, last = plan.stages
    # half of 11 is 6, below 15: ten stay. Medians on 10 samples: 19 18 17 16 15 14 13 12.5 12 11 | 10
    assert (first.number, first.samples, first.ordered_by, first.loop) == (1, 10, OrderedBy.MEDIAN, 1)
    assert first.counted_models == ("m9", "m8", "m7", "m6", "m5")
    assert first.counted_attacks == ("a0", "a1")
    models = [one for one in first.decisions if one.side is Side.MODEL]
    assert [one.name for one in models] == ["m9", "m8", "m7", "m6", "m5", "m4", "m3", "m10", "m2", "m1", "m0"]
    assert models[7] == StageDecision(Side.MODEL, "m10", 8, 12.5, True, 11.0)
    assert models[10] == StageDecision(Side.MODEL, "m0", 11, 10.0, False, 11.0)
    # attacks over the five models that count, 15 16 17 18 19: median 17, and 18; two are never cut
    assert first.decisions[11:] == (
        StageDecision(Side.ATTACK, "a0", 1, 17.0, True, 18.0),
        StageDecision(Side.ATTACK, "a1", 2, 18.0, True, 18.0),
    )
    # on all 30 samples model 10's median is 99; now 99 19 18 17 16 count, median 18 for attack 0
    assert (last.samples, last.counted_models) == (30, ("m10", "m9", "m8", "m7", "m6"))
    assert [one.value for one in last.decisions] == [99.0, 19, 18, 17, 16, 15, 14, 13, 12, 11, 18, 19]
    assert all(one.kept and one.cut_line is None for one in last.decisions)
    assert plan.result is not None
    assert plan.result.models == ("m10", "m9", "m8", "m7", "m6", "m5", "m4", "m3", "m2", "m1", "m0")
    assert plan.result.attacks == ("a0", "a1")
    assert plan.demands == (
        Demand(tuple(range(11)), (0, 1), 10),
        Demand(tuple(range(1, 11)), (0, 1), 30),
    )


@pytest.mark.parametrize(
    ("models", "attacks", "sizes"),
    [
        (100, 100, [(100, 100), (50, 50), (25, 25), (10, 10)]),
        (60, 11, [(60, 11), (30, 10), (15, 10), (10, 10)]),
        (29, 28, [(29, 28), (15, 10), (10, 10)]),
        (10, 9, [(10, 9)]),
        (1, 1, [(1, 1)]),
    ],
)
def test_the_better_half_stays(make_field: Any, models: int, attacks: int, sizes: list[tuple[int, int]]) -> None:
    distances = np.random.default_rng(2).random((models, attacks, 200))
    plan = Halving().plan(make_field(distances.shape), distances)
    assert [(len(demand.models), len(demand.attacks)) for demand in plan.demands] == sizes
    assert [demand.samples for demand in plan.demands] == [*[10, 20, 40][: len(sizes) - 1], 200]


def test_given_models_are_never_cut(make_field: Any, play_out: Any) -> None:
    # attack a leaves a + 1 before every model: 30 attacks, 15, 10
    distances = np.broadcast_to(np.arange(1.0, 31.0)[None, :, None], (12, 30, 50))
    plan, _ = play_out(Halving(), make_field(distances.shape, models_given=True), distances, 3)
    assert [len(demand.attacks) for demand in plan.demands] == [30, 15, 10]
    assert all(demand.models == tuple(range(12)) for demand in plan.demands)
    assert all(one.side is Side.ATTACK for stage in plan.stages for one in stage.decisions)
    assert all(len(stage.counted_models) == 12 and not stage.counted_attacks for stage in plan.stages)
    assert plan.result.models == tuple(f"m{number}" for number in range(12))
    assert plan.result.attacks == tuple(f"a{number}" for number in range(30))


def test_the_price_of_the_paper() -> None:
    # Brendel et al. 2020, section 4.1.3, with literal doubling: 195,000 triples; without playing a sample twice
    # 10,000 x 10 + 2,500 x 10 + 625 x 20 + 100 x 160
    assert most_triples(Halving().ceilings(100, 100, 200)) == 153_500
    assert Halving().samples_of_stages(200) == (10, 20, 40, 80, 160, 200)
    assert Halving().samples_of_stages(10) == (10,)
    # 5 x 30 x 10, 5 x 15 x 10 more, 5 x 10 x 30 more
    assert most_triples(Halving().ceilings(5, 30, 50, models_given=True)) == 1500 + 750 + 1500


def test_it_rejects_another_shape(make_field: Any) -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3, 4\), not \(2, 3, 5\)"):
        Halving().plan(make_field((2, 3, 4)), np.ones((2, 3, 5)))
