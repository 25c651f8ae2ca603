from __future__ import annotations

from evaluation.formats.query.tournament.simulation import MEASURES, simulate


def test_the_truth_is_not_that_of_the_samples_played() -> None:
    findings = simulate(["tight"], 1, jobs=1, seed=7, on_tournament=lambda: None)
    everybody = [one.measures for one in findings if one.schedule == "everybody"]
    # 200 samples do not find all of the true five, though they agree with themselves
    assert {one[f"agreement_{side}"] for one in everybody for side in ("models", "attacks")} == {1.0}
    assert min(one[f"recall_{side}"] for one in everybody for side in ("models", "attacks")) < 1
    assert max(one[f"loss_{side}"] for one in everybody for side in ("models", "attacks")) > 0


def test_every_schedule_is_measured_in_every_tournament() -> None:
    steps: list[None] = []
    findings = simulate(["base"], 1, jobs=1, seed=3, on_tournament=lambda: steps.append(None))
    assert len(steps) == 1
    assert [one.schedule for one in findings][:3] == ["everybody", "halving-in-full", "halving"]
    assert all(tuple(one.measures) == MEASURES for one in findings)
    prices = {one.schedule: one.measures["gpu_days"] for one in findings}
    # 100 x 100 x 200 triples of 40 s; halving in full and with nothing played twice
    assert [round(prices[name], 1) for name in ("everybody", "halving-in-full", "halving")] == [925.9, 90.3, 71.1]
