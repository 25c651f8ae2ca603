"""Hosts whose results differ from those of the others beyond chance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, permutations

import pytest

from bench.differing_hosts import simulate
from workers.differing_host_statistics import ComparedPair, HostVerdict, judge, p_value

OTHERS = [("a", "b"), ("b", "c"), ("a", "c")]


def compared(first: str, second: str, *, unequal: int, player: str = "m1", team: int | None = 1) -> ComparedPair:
    return ComparedPair(frozenset({first, second}), player, team, compared=200, unequal=unequal)


def last_verdict(comparisons: list[ComparedPair]) -> HostVerdict | None:
    """Return the first verdict of a site that judges after each comparison."""
    for number, newest in enumerate(comparisons):
        if found := judge(comparisons[: number + 1], newest):
            return found
    return None


def mixed(bad: str, *, models: int) -> Iterator[ComparedPair]:
    """Yield comparisons of four hosts by turns; those of `bad` differ."""
    pairs = [*OTHERS, *((host, bad) for host in "abc")]
    for number, (pair, model) in enumerate(zip(cycle(pairs), cycle(range(models)))):
        if number == 120:
            return
        yield compared(*pair, unequal=10 if bad in pair else 1, player=f"m{model}", team=model)


def test_a_host_that_differs_from_every_other_one_is_found() -> None:
    found = last_verdict(list(mixed("bad", models=5)))
    assert found is not None
    assert found.hosts == ("bad",)
    assert found.p < 0.001


@pytest.mark.parametrize(("hosts", "noisy"), [(10, 1), (50, 3)])
def test_hosts_with_noise_are_found_within_200_pieces(hosts: int, noisy: int) -> None:
    site = simulate(11, hosts=hosts, noisy=noisy, pieces=220)
    assert set(site.drained) == set(site.noisy)
    assert max(site.drained.values()) <= 200


def test_none_of_fifty_honest_hosts_is_taken_for_one() -> None:
    site = simulate(12, hosts=50, noisy=0, pieces=150)
    assert (site.drained, site.undecided) == ({}, 0)


def test_rounding_is_no_difference() -> None:
    assert not compared("a", "b", unequal=2).differs
    assert compared("a", "b", unequal=3).differs
    assert ComparedPair(frozenset("ab"), "m1", 1, compared=10, unequal=1).differs is False


def test_a_model_that_differs_everywhere_makes_no_host_look_wrong() -> None:
    liars = [compared(*pair, unequal=60, player="liar", team=9) for pair in permutations("abcd", 2)] * 10
    assert last_verdict(liars) is None


def test_the_models_of_one_team_make_no_host_look_wrong() -> None:
    """A model could recognise a host, and lie there alone."""
    pairs = [*OTHERS, *((host, "d") for host in "abc")] * 20
    lies = [compared(*pair, unequal=60 * ("d" in pair), player=f"m{n % 4}", team=9) for n, pair in enumerate(pairs)]
    assert last_verdict(lies) is None
    of_two_teams = [compared(*pair, unequal=60 * ("d" in pair), player="other", team=8) for pair in pairs]
    found = last_verdict(lies + of_two_teams)
    assert found is not None
    assert found.hosts == ("d",)


def test_differences_of_bundled_models_need_few_comparisons() -> None:
    pairs = [("a", "d"), ("b", "d"), ("a", "b"), ("c", "d"), ("b", "c"), ("a", "d")]
    found = last_verdict([compared(*pair, unequal=20 * ("d" in pair), team=None) for pair in pairs])
    assert found is not None
    assert found.hosts == ("d",)


def test_two_hosts_that_only_met_each_other_cannot_be_told_apart() -> None:
    alone = [compared("a", "b", unequal=20, team=None)] * 8
    found = last_verdict(alone)
    assert found is not None
    assert found.hosts == ("a", "b")
    found = last_verdict([*alone[:1], *[compared("b", "c", unequal=20, team=None)] * 3])
    assert found is not None
    assert found.hosts == ("b",)


def test_the_probability_is_that_of_fishers_exact_test() -> None:
    """Three of three against none of three: one of the twenty ways to choose three of six."""
    rows = [*[compared("a", "x", unequal=50)] * 3, *[compared("b", "y", unequal=0)] * 3]
    of_other_teams = [
        compared("a", "x", unequal=50, player="m2", team=2),
        compared("b", "y", unequal=0, player="m2", team=2),
    ]
    assert p_value("b", rows) == pytest.approx(1.0)
    assert p_value("a", rows) == pytest.approx(1.0)  # of one team alone
    assert p_value("a", rows + of_other_teams) == pytest.approx(1 / 2)  # without the first team
