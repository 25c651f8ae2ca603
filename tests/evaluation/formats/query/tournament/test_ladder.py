from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.halving import Halving
from evaluation.formats.query.tournament.ladder import Ladder
from evaluation.formats.query.tournament.schedule_input import Field
from evaluation.formats.query.tournament.schedule_output import Demand, OrderedBy, Schedule, StageDecision, most_triples


def test_players_are_cut_by_their_mean_rank_and_the_last_stage_orders_by_the_median(
    make_field: Any, play_out: Any
) -> None:
    # 11 models, 1 attack, 2 samples. Model m keeps 10 + m on both samples, but model 10 keeps 100 and 1.
    distances = np.repeat(np.arange(10.0, 21.0)[:, None, None], 2, axis=2)
    distances[10, 0] = [100.0, 1.0]
    plan, _ = play_out(Ladder(), make_field((11, 1, 2)), distances, 1)

    first, last = plan.stages
    # eleven are cut by the stage of 100 samples alone, and there are only 2. Its panel of ten: 0 to 9.
    assert (first.number, first.samples, first.ordered_by, first.renewed) == (1, 2, OrderedBy.MEAN_RANK, False)
    assert first.panel_models == tuple(f"m{number}" for number in range(10))
    # of these 9 8 7 6 5 are the best
    assert (first.counted_models, first.counted_attacks) == (("m9", "m8", "m7", "m6", "m5"), ("a0",))
    # ranks of model m: 11 - m and 10 - m, mean 10.5 - m; of model 10: 1 and 11, mean 6
    names = ["m9", "m8", "m7", "m6", "m5", "m10", "m4", "m3", "m2", "m1", "m0"]
    assert [one.name for one in first.decisions[:11]] == names
    assert first.decisions[5] == StageDecision(Side.MODEL, "m10", 6, 6.0, True, 9.5)
    assert first.decisions[10] == StageDecision(Side.MODEL, "m0", 11, 10.5, False, 9.5)
    assert first.decisions[11:] == (StageDecision(Side.ATTACK, "a0", 1, 1.0, True, 1.0),)
    # medians: (100 + 1) / 2 for model 10
    assert (last.samples, last.ordered_by) == (2, OrderedBy.MEDIAN)
    assert [one.value for one in last.decisions[:10]] == [50.5, 19.0, 18.0, 17.0, 16.0, 15.0, 14.0, 13.0, 12.0, 11.0]
    assert all(one.kept and one.cut_line is None for one in last.decisions)
    assert plan.result is not None
    assert plan.result.models == ("m10", "m9", "m8", "m7", "m6", "m5", "m4", "m3", "m2", "m1", "m0")
    assert plan.demands == (
        Demand(tuple(range(11)), (0,), 2),
        Demand(tuple(range(10)), (0,), 2),
        Demand(tuple(range(1, 11)), (0,), 2),
    )


def test_a_first_panel_without_success_is_replaced(make_field: Any, play_out: Any) -> None:
    # attacks 0 to 9 never succeed, and the prior puts them into the panel; 10 to 14 leave 5 4 3 2 1
    row = np.array([50.0] * 10 + [5.0, 4.0, 3.0, 2.0, 1.0])
    distances = np.broadcast_to(row[None, :, None], (1, 15, 3))
    plan, _ = play_out(Ladder(), make_field((1, 15, 3)), distances, 2)
    first = plan.stages[0]
    assert first.renewed
    # the five best, then, as no other is ahead of these, the next best
    assert first.panel_attacks == ("a14", "a13", "a12", "a11", "a10", "a0", "a1", "a2", "a3", "a4")
    assert first.counted_attacks == ("a14", "a13", "a12", "a11", "a10")
    # attacks without success share the ranks 6 to 15, mean 10.5, and equal distances: entry decides, and 9 goes
    attacks = first.decisions[1:]
    assert [one.value for one in attacks] == [1.0, 2.0, 3.0, 4.0, 5.0] + [10.5] * 10
    assert [one.name for one in attacks if not one.kept] == ["a9"]
    assert plan.result.attacks == tuple(f"a{number}" for number in (14, 13, 12, 11, 10, *range(10)))


@pytest.mark.parametrize(("of_one_team", "sixth"), [(False, "a44"), (True, "a5")])
def test_a_panel_includes_an_attack_of_another_kind(make_field: Any, of_one_team: bool, sixth: str) -> None:
    # attack 44 comes after 0 to 13 on four models, and before all of them on the fifth, which may be of its team
    distances = np.tile(np.arange(10.0, 55.0)[None, :, None], (5, 1, 16))
    distances[:, 44] = np.array([23.5, 23.5, 23.5, 23.5, 1.0])[:, None]
    distances *= 1.01 ** np.arange(5)[:, None, None]  # so that the models do not tie
    teams = {"model_teams": [0, 1, 2, 3, 4], "attack_teams": [*range(5, 49), 4 if of_one_team else 49]}
    first, second, *_ = Ladder().plan(make_field((5, 45, 16), **teams), distances).stages
    assert first.panel_attacks == tuple(f"a{number}" for number in range(10))
    assert [one.place for one in first.decisions if one.name == "a44"] == [15 if of_one_team else 12]
    assert second.panel_attacks[:6] == ("a0", "a1", "a2", "a3", "a4", sixth)
    assert len(second.panel_attacks) == 10


def test_a_panel_includes_a_model_of_another_kind(make_field: Any) -> None:
    # model 44 comes after 0 to 13, but no other one holds as well against the last attack
    distances = np.tile(np.arange(60.0, 15.0, -1.0)[:, None, None], (1, 5, 16))
    distances[44] = np.array([46.5, 46.5, 46.5, 46.5, 99.0])[:, None]
    stages = Ladder().plan(make_field((45, 5, 16)), distances).stages
    assert stages[1].panel_models == ("m0", "m1", "m2", "m3", "m4", "m44", "m5", "m6", "m7", "m8")


def test_a_first_panel_without_success_is_replaced_though_fewer_than_five_attacks_succeed(
    make_field: Any, play_out: Any
) -> None:
    # the best models enter last; only attacks 21 to 23 succeed; the prior's panel is 0 to 9. Attacks 0
    # and 1 are of the new first five, but all models tie against them: the order of entry would cut the best four
    distances = np.full((24, 24, 8), 50.0)
    distances[:, 21:] = np.arange(1.0, 25.0)[:, None, None]
    plan, _ = play_out(Ladder(), make_field((24, 24, 8)), distances, 5)
    first = plan.stages[0]
    assert first.renewed
    assert first.panel_attacks == ("a21", "a22", "a23", "a0", "a1", "a2", "a3", "a4", "a5", "a6")
    assert plan.result.models == tuple(f"m{number}" for number in reversed(range(24)))


def test_panels_that_would_stay_are_not_replaced(make_field: Any) -> None:
    # two identical attacks make all models tie, and both are in the panel
    plan = Ladder().plan(make_field((5, 2, 8)), np.ones((5, 2, 8)))
    assert not any(stage.renewed for stage in plan.stages)
    plan = Ladder().plan(make_field((24, 2, 8)), np.ones((24, 2, 8)))
    assert not plan.stages[0].renewed


@pytest.mark.parametrize("schedule", [Ladder(), Ladder(guard=True)])
def test_where_no_attack_succeeds_the_order_of_entry_decides(make_field: Any, schedule: Ladder) -> None:
    prior = tuple(reversed(range(24)))
    field = make_field((24, 24, 100), prior, prior)
    plan = schedule.plan(field, np.full((24, 24, 100), 18.0))
    assert plan.result is not None
    assert plan.result.models == tuple(f"m{number}" for number in range(24))
    assert plan.result.attacks == tuple(f"a{number}" for number in range(24))


@pytest.mark.parametrize(("ahead", "spared"), [(42, ["m10"]), (41, [])])
def test_the_guard_spares_who_does_not_lose_to_the_fifth(make_field: Any, ahead: int, spared: list[str]) -> None:
    # Model m keeps 30 - m on each of 100 samples, but model 4 is the best on most and on the others between 10 and 11.
    # Mean ranks: 1.6 2.6 3.6 4.6, model 4 with 0.58 + 0.42 x 11 = 5.2, 5.6 for model 5: the fifth is model 4. By chance
    # a fair coin falls on one side at most 41 times of 100 with 4.4 %, at most 42 times with 6.7 %.
    distances = np.repeat(np.arange(30.0, 16.0, -1.0)[:, None, None], 100, axis=2)
    distances[4, 0] = [19.5] * ahead + [99.0] * (100 - ahead)
    plan = Ladder(guard=True).plan(make_field((14, 1, 100)), distances)
    models = [one for one in plan.stages[0].decisions if one.side is Side.MODEL]
    assert models[4].name == "m4"
    assert [one.name for one in models if one.spared] == spared
    assert [one.name for one in models if not one.kept] == ["m10", "m11", "m12", "m13"][len(spared) :]
    assert {one.cut_line for one in models} == {models[9].value}


def test_the_guard_spares_no_more_than_three_of_ten(make_field: Any) -> None:
    field, distances = make_field((14, 1, 100)), np.ones((14, 1, 100))
    last = Ladder(guard=True).plan(field, distances).demands[-1]
    assert last.models == tuple(range(13))
    assert Ladder().plan(field, distances).demands[-1].models == tuple(range(10))


def test_given_models_are_met_by_every_attack(make_field: Any, play_out: Any) -> None:
    distances = np.broadcast_to(np.arange(1.0, 41.0)[None, :, None], (5, 40, 120))
    plan, _ = play_out(Ladder(), make_field((5, 40, 120), models_given=True), distances, 3)
    # of 40: a half, 16, 14, 10
    assert [(len(demand.attacks), demand.samples) for demand in plan.demands] == [
        (40, 8),
        (20, 16),
        (16, 40),
        (14, 100),
        (10, 120),
    ]
    assert all(demand.models == tuple(range(5)) for demand in plan.demands)
    assert all(one.side is Side.ATTACK for stage in plan.stages for one in stage.decisions)
    assert plan.result.attacks == tuple(f"a{number}" for number in range(40))


@pytest.mark.parametrize("schedule", [Ladder(), Ladder(guard=True), Halving()], ids=["ladder", "guard", "halving"])
@pytest.mark.parametrize("given", [False, True], ids=["both sides", "given models"])
def test_no_more_pairs_meet_than_were_foreseen(make_field: Any, play_out: Any, schedule: Schedule, given: bool) -> None:
    shape = (5 if given else 60, 60, 40)
    distances = np.random.default_rng(3).random(shape)
    plan, _ = play_out(schedule, make_field(shape, models_given=given), distances, 1)
    met = {pair for demand in plan.demands for pair in product(demand.models, demand.attacks)}
    assert len(met) <= schedule.most_pairs(*shape, models_given=given) <= shape[0] * shape[1]


def test_the_ceiling() -> None:
    assert most_triples(Ladder().ceilings(100, 100, 200)) == 100_800
    # a small field: all against all on all samples is less than panels of ten
    assert most_triples(Ladder().ceilings(12, 12, 200)) == 12 * 12 * 200
    # 5 models: 40 x 8, 20 x 8 more, 16 x 24 more, 14 x 60 more, 10 x 20 more
    assert most_triples(Ladder().ceilings(5, 40, 120, models_given=True)) == 5 * (320 + 160 + 384 + 840 + 200)
    assert Ladder().samples_of_stages(200) == (8, 16, 40, 100, 200)
    assert Ladder().samples_of_stages(30) == (8, 16, 30)


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize(("players", "seed"), [(16, 1), (28, 2), (45, 3), (100, 4)])
def test_it_agrees_with_another_implementation(make_field: Any, players: int, seed: int, guard: bool) -> None:
    random = np.random.default_rng(seed)
    strength = random.normal(0, 0.4, (2, players))
    logs = random.normal(0, 0.4, (players, players, 200)) + strength[0][:, None, None] - strength[1][None, :, None]
    distances = np.exp(logs + random.normal(0, 0.4, (players, 1, 200)))
    # a prior that is good, or upside down so that the first panels are chosen again
    turn = 1 if seed % 2 else -1
    field = make_field(distances.shape, *(np.argsort(-side)[::turn].tolist() for side in strength))
    plan = Ladder(guard=guard).plan(field, distances)
    assert plan.result is not None
    assert [
        tuple(int(name[1:]) for name in names) for names in (plan.result.models, plan.result.attacks)
    ] == reference_ladder(distances, field, guard)


def reference_ladder(D: NDArray[np.float64], field: Field, guard: bool) -> list[tuple[int, ...]]:  # noqa: N803
    """The ladder as short loops, with exact mean ranks; all remaining players meet in the last stage."""
    n = len(D)
    cuts = [(8, max(20, -(-n // 2))), (16, max(16, -(-n // 4))), (40, max(14, -(-n // 7))), (100, 10)]
    models, attacks = list(field.model_prior), list(field.attack_prior)
    panels = models[:10], attacks[:10]
    out: tuple[list[int], list[int]] = ([], [])
    before = 0
    for samples, keep in [cut for cut in cuts if cut[1] < n] + [(200, 0)]:
        again = 2 if keep and len(models) == n else 1
        if before:
            panels = reference_panels(D[:, :, :before], panels, models, attacks) if keep else (models, attacks)
        before = samples
        for _ in range(again):
            m5, a5 = reference_recursion(D, *panels, samples, bool(keep))
            model_values, attack_values = D[:, a5, :samples].min(1), D[m5][:, :, :samples].transpose(1, 0, 2)
            models = reference_order(model_values, models, -1, bool(keep))
            attacks = reference_order(attack_values.reshape(n, -1), attacks, 1, bool(keep))
            if set(models[:5]) & set(panels[0]) and set(attacks[:5]) & set(panels[1]):
                break
            if again == 2:
                again = 1
                panels = reference_panels(D[:, :, :samples], panels, models, attacks)
        if keep:
            stay = keep, keep
            if guard:
                stay = (
                    reference_guard(model_values[models], keep),
                    reference_guard(-np.median(attack_values[attacks], axis=1), keep),
                )
            out = models[stay[0] :] + out[0], attacks[stay[1] :] + out[1]
            models, attacks = models[: stay[0]], attacks[: stay[1]]
    return [tuple(models + out[0]), tuple(attacks + out[1])]


def reference_panels(
    D: NDArray[np.float64],  # noqa: N803
    met: tuple[list[int], list[int]],
    models: list[int],
    attacks: list[int],
) -> tuple[list[int], list[int]]:
    """Five, then those that most often beat all of the panel on the pairs of the stage before."""
    panels = models[:5], attacks[:5]
    for side, order in enumerate((models, attacks)):
        panel = panels[side]
        while len(panel) < min(10, len(order)):
            wins = {one: 0 for one in order if one not in panel}
            for one, opponent, sample in product(wins, met[1 - side], range(D.shape[2])):
                mine, *theirs = (
                    D[opponent, other, sample] if side else -D[other, opponent, sample] for other in (one, *panel)
                )
                wins[one] += all(mine < their for their in theirs)
            panel.append(max(wins, key=lambda one: (wins[one], -order.index(one))))
    return panels


def reference_order(values: NDArray[np.float64], players: list[int], sign: int, rank: bool) -> list[int]:
    """Rows of `values` belong to all players."""
    chosen = sign * values[players]
    keys: list[Any] = list(np.median(chosen, axis=1))
    if rank:
        less = (chosen[None] < chosen[:, None]).sum((1, 2)), (chosen[None] == chosen[:, None]).sum((1, 2))
        keys = [Fraction(int(2 * below + same), 2) for below, same in zip(*less, strict=True)]
    means = chosen.mean(axis=1)
    places = sorted(range(len(players)), key=lambda row: (keys[row], means[row], players[row]))
    return [players[row] for row in places]


def reference_recursion(
    D: NDArray[np.float64],  # noqa: N803
    models: list[int],
    attacks: list[int],
    samples: int,
    rank: bool,
) -> tuple[list[int], list[int]]:
    a5 = attacks
    seen: list[tuple[list[int], list[int]]] = []
    while True:
        m5 = reference_order(D[:, a5, :samples].min(1), models, -1, rank)[:5]
        pooled = D[m5][:, :, :samples].transpose(1, 0, 2).reshape(len(D), -1)
        a5 = reference_order(pooled, attacks, 1, rank)[:5]
        if set(a5) in [set(state) for _, state in seen]:
            break
        seen.append((m5, a5))
    loop = seen[[set(state) for _, state in seen].index(set(a5)) :]
    return sorted({one for five, _ in loop[1:] for one in five} | set(m5)), sorted(
        {one for _, five in loop for one in five}
    )


def reference_guard(values: NDArray[np.float64], keep: int) -> int:
    """Rows best first, larger is better."""
    stay = keep
    for row in range(keep, len(values)):
        wins, losses = (values[row] > values[4]).sum(), (values[row] < values[4]).sum()
        tail = sum(np.prod([(wins + losses - i) / (i + 1) for i in range(heads)]) for heads in range(wins + 1))
        if wins + losses == 0 or tail / 2.0 ** (wins + losses) >= 0.05:
            stay = row + 1
    return min(int(1.3 * keep), stay, len(values))
