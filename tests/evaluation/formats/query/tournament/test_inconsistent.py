"""A model whose audits failed leaves at the end of the stage, which is decided without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.failed_audit_rule import NobodyLeftError, distrusted
from evaluation.formats.query.tournament.round_state import (
    RoundEntrant,
    RoundFacts,
    RoundState,
    SampleRow,
    advance,
    ceiling,
    demanded,
)
from evaluation.formats.query.tournament.schedule_output import Stage

SAMPLES = 16


def facts(
    models: int, attacks: int, targeted: int = 0, schedule: str = "halving", *, sweep: bool = False
) -> RoundFacts:
    """m00 is the hardest model and a00 the strongest attack; nothing is played."""
    sides = ((TrackName.MODEL, "m", models), (TrackName.UNTARGETED, "a", attacks), (TrackName.TARGETED, "t", targeted))
    entrants = [
        RoundEntrant(track, f"{letter}{number:02}", (f"team {letter}{number}",))
        for track, letter, count in sides
        for number in range(count)
    ]
    priors = {track: tuple(one.player for one in entrants if one.track is track) for track in TrackName}
    return RoundFacts(schedule, False, SAMPLES, sweep, tuple(entrants), priors, {})


def row(model: str, attack: str, sample: int) -> SampleRow:
    strength = 1.1 ** (int(attack[1:]) - int(model[1:]))
    return SampleRow(Outcome.ADVERSARIAL, strength * (1 + 0.01 * sample), 10)


def played_out(known: RoundFacts) -> tuple[RoundFacts, RoundState]:
    """The finished round, with everything that it demanded."""
    while not (state := advance(known)).over:
        results = {pair: dict(rows) for pair, rows in known.results.items()}
        for ask in state.requests:
            rows = results.setdefault((ask.model, ask.attack), {})
            rows |= {sample: row(ask.model, ask.attack, sample) for sample in range(ask.upto)}
        known = replace(known, results=results)
    return known, state


def failing(
    model: str, attacks: Iterable[str], on: tuple[int, ...] = (8, 10, 16)
) -> Mapping[tuple[str, str], tuple[int, ...]]:
    return {(model, attack): on for attack in attacks}


def models_of(state: RoundState) -> list[str]:
    return [place.player for place in state.places if place.track is TrackName.MODEL]


def lines(stage: Stage, name: str) -> list[tuple[bool, bool, float | None]]:
    return [(line.kept, line.inconsistent, line.value) for line in stage.decisions if line.name == name]


TOP_ATTACKS = ["a00", "a01", "a02", "a03", "a04"]


@pytest.mark.parametrize("schedule", ["halving", "ladder"])
def test_it_leaves_at_the_end_of_the_stage_and_comes_last(schedule: str) -> None:
    known = facts(24, 24, schedule=schedule)
    _, before = played_out(known)
    assert models_of(before)[:2] == ["m00", "m01"]
    _, state = played_out(replace(known, failed_audits=failing("m00", TOP_ATTACKS)))
    first = state.brackets[0].plan.stages[0]
    assert lines(first, "m00") == [(False, True, None)]
    assert first.decisions[23].place == 24
    assert "m00" not in first.counted_models
    assert all(not lines(stage, "m00") for stage in state.brackets[0].plan.stages[1:])
    assert (models_of(state)[0], models_of(state)[-1]) == ("m01", "m00")
    place = next(place for place in state.places if place.player == "m00")
    assert (place.inconsistent, place.value, place.stage) == (True, None, 1)


def test_the_stage_is_decided_as_though_it_had_not_entered() -> None:
    """Medians, ranks and places of all other players are those of the round without it."""
    _, state = played_out(replace(facts(9, 9), failed_audits=failing("m08", TOP_ATTACKS)))
    _, without = played_out(facts(8, 9))
    lines = [line for line in state.brackets[0].plan.stages[0].decisions if not line.inconsistent]
    assert lines == list(without.brackets[0].plan.stages[0].decisions)
    assert [place for place in state.places if not place.inconsistent] == list(without.places)


def test_its_place_goes_to_another_model() -> None:
    known = facts(12, 12)
    _, before = played_out(known)
    _, state = played_out(replace(known, failed_audits=failing("m03", TOP_ATTACKS)))
    kept, instead = (
        {line.name for line in each.brackets[0].plan.stages[0].decisions if line.kept and line.side is Side.MODEL}
        for each in (before, state)
    )
    assert (len(kept), kept - instead, instead - kept) == (10, {"m03"}, {"m10"})


def test_a_finished_stage_does_not_change() -> None:
    """The audit fails on 16 samples, so the stage on 10 keeps its decisions."""
    known = facts(12, 12)
    _, before = played_out(known)
    _, state = played_out(replace(known, failed_audits=failing("m00", TOP_ATTACKS, on=(16,))))
    (first, last), (others, _) = state.brackets[0].plan.stages, before.brackets[0].plan.stages
    assert first == others
    assert lines(last, "m00") == [(False, True, None)]


@pytest.mark.parametrize(
    ("failed", "met", "leaves"),
    [
        (1, 1, False),
        (1, 2, False),
        (2, 2, True),
        (2, 3, True),
        (2, 4, False),
        (2, 5, False),
        (3, 5, True),
        (0, 0, False),
    ],
)
def test_more_than_half_and_at_least_two_must_have_failed(failed: int, met: int, leaves: bool) -> None:
    assert distrusted(failed=failed, met=met) is leaves


def test_a_minority_of_attacks_removes_no_model() -> None:
    known = facts(12, 12)
    _, before = played_out(known)
    two_that_count = failing("m00", ["a00", "a01"])
    # those that do not measure it are many, and change nothing
    the_weak = failing("m00", [f"a{number:02}" for number in range(5, 12)])
    _, state = played_out(replace(known, failed_audits={**two_that_count, **the_weak}))
    assert state.places == before.places


def test_what_an_organiser_keeps_plays_on() -> None:
    known = replace(facts(12, 12), failed_audits=failing("m00", TOP_ATTACKS))
    _, before = played_out(facts(12, 12))
    _, state = played_out(replace(known, kept={"m00": "rounding"}))
    assert (state.places, state.brackets) == (before.places, before.brackets)


def test_no_more_is_played_where_a_member_of_a_panel_leaves() -> None:
    known = facts(40, 40, schedule="ladder")
    most = ceiling(known)
    for left in (0, 1, 3):
        audits = {pair: on for number in range(left) for pair, on in failing(f"m{number:02}", TOP_ATTACKS).items()}
        over, state = played_out(replace(known, failed_audits=audits))
        assert sum(demanded(over, state).values()) <= most
        assert len(state.brackets[0].plan.stages[0].panel_models) == 10 - left


def test_where_a_whole_panel_leaves_the_next_best_replace_it() -> None:
    audits = {pair: on for number in range(10) for pair, on in failing(f"m{number:02}", TOP_ATTACKS).items()}
    _, state = played_out(replace(facts(40, 40, schedule="ladder"), failed_audits=audits))
    assert state.brackets[0].plan.stages[0].panel_models == tuple(f"m{number}" for number in range(10, 20))
    assert models_of(state)[0] == "m10"
    assert set(models_of(state)[-10:]) == {f"m{number:02}" for number in range(10)}


def test_it_leaves_the_bracket_of_the_targeted_attacks_and_wins_nothing() -> None:
    known = facts(7, 7, 4, sweep=True)
    _, before = played_out(known)
    _, state = played_out(replace(known, failed_audits=failing("m00", ["t00", "t01", "t02"])))
    assert state.brackets[0] == before.brackets[0]
    (stage,) = state.brackets[1].plan.stages
    assert lines(stage, "m00") == [(False, True, None)]
    assert stage.counted_models == ("m01", "m02", "m03", "m04")
    assert models_of(state) == ["m01", "m02", "m03", "m04", "m05", "m06", "m00"]
    assert next(place for place in state.places if place.player == "m00").value is None


def test_of_few_models_one_that_left_does_not_meet_the_targeted_attacks() -> None:
    _, state = played_out(replace(facts(3, 3, 2), failed_audits=failing("m00", ["a00", "a01", "a02"])))
    assert state.brackets[1].plan.stages[0].counted_models == ("m01", "m02")


def test_it_rejects_a_round_that_every_model_left() -> None:
    audits = {**failing("m00", TOP_ATTACKS), **failing("m01", TOP_ATTACKS)}
    with pytest.raises(NobodyLeftError, match="failed its audits"):
        played_out(replace(facts(2, 5), failed_audits=audits))
