"""A whole round by a simple schedule: all meet all, the best two of each side stay, and count."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament import round_state
from evaluation.formats.query.tournament.final_ranking import FinalPlace
from evaluation.formats.query.tournament.round_state import (
    Request,
    RoundEntrant,
    RoundFacts,
    RoundState,
    SampleRow,
    advance,
    ceiling,
    piece_ends,
)
from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import (
    Demand,
    OrderedBy,
    Plan,
    Schedule,
    ScheduleResult,
    Stage,
    StageCeiling,
    StageDecision,
    Wanted,
)
from evaluation.formats.query.tournament.warning_sweep import Warned

WORST = 100.0
TEAMS = {"strong": ("owls",), "dull": ("owls", "larks")}
BASE = {"weak": 1.0, "strong": 8.0, "middle": 4.0}
FACTOR = {"dull": 10.0, "sharp": 1.0, "blunt": 2.0, "drift": 5.0, "aim": 3.0}
TRACKS = {"drift": TrackName.TARGETED, "aim": TrackName.TARGETED, **dict.fromkeys(BASE, TrackName.MODEL)}


class TwoStages:
    """Stage 1 on two samples, all against all; stage 2 on all of them, the best two of each side by median."""

    def plan(self, field: Field, played: Played) -> Plan:
        models, attacks = list(range(len(field.models))), list(range(len(field.attacks)))
        stages: list[Stage] = []
        demands: list[Demand] = []
        cut_models: list[str] = []
        cut_attacks: list[str] = []
        for samples in self.samples_of_stages(field.samples)[-1 if field.models_given else 0 :]:
            demands.append(Demand(tuple(models), tuple(attacks), samples))
            wanted = tuple(_wanted(field, played, demands[-1]))
            if wanted:
                return Plan(tuple(stages), tuple(demands), wanted)
            last = samples == field.samples
            block = played[:, :, :samples]
            values = {m: float(np.nanmedian(np.nanmin(block[m, attacks], axis=0))) for m in models}
            best = sorted(models, key=lambda m: -values[m])
            reached = {a: float(np.nanmedian(block[models, a])) for a in attacks}
            nearest = sorted(attacks, key=reached.__getitem__)
            kept, stay = (best, nearest) if last else (best[:2], nearest[:2])
            names, rivals = [field.models[m].name for m in best], [field.attacks[a].name for a in nearest]
            lines = [
                StageDecision(Side.MODEL, name, place, values[m], m in kept, None if last else values[best[1]])
                for place, (m, name) in enumerate(zip(best, names, strict=True), 1)
            ] + [
                StageDecision(Side.ATTACK, name, place, reached[a], a in stay, None if last else reached[nearest[1]])
                for place, (a, name) in enumerate(zip(nearest, rivals, strict=True), 1)
            ]
            seats = (tuple(names), tuple(rivals))
            stages.append(
                Stage(
                    len(stages) + 1, samples, OrderedBy.MEDIAN, *seats, *seats, 1, renewed=False, decisions=tuple(lines)
                )
            )
            cut_models, cut_attacks = names[len(kept) :] + cut_models, rivals[len(stay) :] + cut_attacks
            models, attacks = kept, stay
        last_models, last_attacks = [field.models[m].name for m in models], [field.attacks[a].name for a in attacks]
        result = ScheduleResult((*last_models, *cut_models), (*last_attacks, *cut_attacks))
        return Plan(tuple(stages), tuple(demands), result=result)

    def samples_of_stages(self, samples: int) -> tuple[int, ...]:
        return (2, samples)

    def ceilings(
        self, models: int, attacks: int, samples: int, *, models_given: bool = False
    ) -> tuple[StageCeiling, ...]:
        return (StageCeiling(samples, models * attacks, samples, models * attacks, attacks),)

    def most_pairs(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        return models * attacks


def _wanted(field: Field, played: Played, demand: Demand) -> Iterable[Wanted]:
    for model in demand.models:
        for attack in demand.attacks:
            gaps = np.flatnonzero(np.isnan(played[model, attack, : demand.samples]))
            if gaps.size:
                yield Wanted(model, attack, tuple(int(gap) for gap in gaps))


@pytest.fixture(autouse=True)
def _two_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(name: str, *, guard: bool = False) -> Schedule:
        return TwoStages()

    monkeypatch.setattr(round_state, "schedule_named", named)


def facts(*, sweep: bool = True, without: Iterable[str] = ()) -> RoundFacts:
    names = [name for name in (*BASE, *FACTOR) if name not in without]
    entrants = tuple(RoundEntrant(TRACKS.get(name, TrackName.UNTARGETED), name, TEAMS.get(name, ())) for name in names)
    priors = {track: tuple(one.player for one in entrants if one.track is track) for track in TrackName}
    return RoundFacts("two-stages", False, 4, sweep, entrants, priors, {})


def row(model: str, attack: str, sample: int) -> SampleRow:
    """Dull is the farthest on all models but middle, where it is the nearest on three samples of four."""
    near = (model, attack) == ("middle", "dull") and sample > 0
    return SampleRow(Outcome.ADVERSARIAL, 0.5 if near else BASE[model] * FACTOR[attack], 10 + sample)


def with_rows(known: RoundFacts, requests: Iterable[Request]) -> RoundFacts:
    rows = {pair: dict(of) for pair, of in known.results.items()}
    for ask in requests:
        of = rows.setdefault((ask.model, ask.attack), {})
        for sample in range(ask.upto):
            of.setdefault(sample, row(ask.model, ask.attack, sample))
    return replace(known, results=rows)


def play(known: RoundFacts) -> tuple[RoundFacts, list[RoundState]]:
    """Return everything that was requested, step by step."""
    states = [advance(known)]
    while not states[-1].over:
        known = with_rows(known, states[-1].requests)
        states.append(advance(known))
    return known, states


def test_a_round_ends_with_places_scores_intervals_and_warnings() -> None:
    _, states = play(facts())
    assert [[bracket.track for bracket in state.brackets] for state in states] == [
        [TrackName.UNTARGETED],
        [TrackName.UNTARGETED],
        [TrackName.UNTARGETED, TrackName.TARGETED],
        [TrackName.UNTARGETED, TrackName.TARGETED],
        [TrackName.UNTARGETED, TrackName.TARGETED],
    ]
    asked = [{(ask.model, ask.attack, ask.upto) for ask in state.requests} for state in states]
    # all against all, the pair of one team too
    assert asked[0] == {(m, a, 2) for m in BASE for a in ("dull", "sharp", "blunt")}
    assert asked[1] == {(m, a, 4) for m in ("strong", "middle") for a in ("sharp", "blunt")}
    assert asked[2] == {(m, a, 4) for m in BASE for a in ("drift", "aim")}
    # the eliminated attack against the winners, its own team's among them
    assert asked[3] == {(m, "dull", 4) for m in BASE}
    assert [state.sweeping for state in states] == [False, False, False, True, False]

    places = {(place.track, place.player): place for place in states[-1].places}
    assert [(place.track, place.player, place.place, place.stage, place.value) for place in states[-1].places] == [
        (TrackName.MODEL, "strong", 1, 2, 8.0),
        (TrackName.MODEL, "middle", 2, 2, 4.0),
        (TrackName.MODEL, "weak", 3, 1, None),
        (TrackName.UNTARGETED, "sharp", 1, 2, 6.0),
        (TrackName.UNTARGETED, "blunt", 2, 2, 12.0),
        (TrackName.UNTARGETED, "dull", 3, 1, None),
        (TrackName.TARGETED, "aim", 1, 1, 12.0),
        (TrackName.TARGETED, "drift", 2, 1, 20.0),
    ]
    assert places[TrackName.MODEL, "strong"].worst_opponent == "sharp"
    assert places[TrackName.UNTARGETED, "sharp"].worst_opponent == "strong"
    strong = places[TrackName.MODEL, "strong"]
    assert (strong.low, strong.high) == (8.0, 8.0)
    assert (strong.met, strong.opponents, strong.value_against_all) == (2, 2, 8.0)
    assert (strong.rank_low, strong.rank_high, strong.separated_from_next, strong.prize_place) == (1, 1, True, 1)
    assert places[TrackName.MODEL, "weak"] == FinalPlace(TrackName.MODEL, "weak", 3, 1)
    assert states[-1].warnings == (Warned("middle", "dull", 3, 4, 0.5),)


def test_without_a_sweep_there_are_no_warnings() -> None:
    _, states = play(facts(sweep=False))
    assert len(states) == 4
    assert states[-1].warnings == ()


def test_without_targeted_attacks_there_is_one_bracket() -> None:
    _, states = play(facts(without=("drift", "aim")))
    assert [bracket.track for bracket in states[-1].brackets] == [TrackName.UNTARGETED]
    assert {place.track for place in states[-1].places} == {TrackName.MODEL, TrackName.UNTARGETED}


def test_the_order_of_arrival_changes_nothing() -> None:
    known, states = play(facts())
    chance = random.Random(4)
    pairs = chance.sample(sorted(known.results), len(known.results))
    mixed = {pair: dict(chance.sample(sorted(known.results[pair].items()), len(known.results[pair]))) for pair in pairs}
    assert advance(replace(known, results=mixed)) == states[-1]

    # every subset asks for a part of what is missing, and never for a pair that is complete
    for lost in pairs:
        partly = {pair: rows for pair, rows in mixed.items() if pair != lost}
        state = advance(replace(known, results=partly))
        assert [(ask.model, ask.attack) for ask in state.requests] == [lost]


def test_a_model_that_holds_on_more_than_half_of_the_samples_is_not_broken() -> None:
    known, _ = play(facts())
    rows = {pair: dict(of) for pair, of in known.results.items()}

    def held(samples: Iterable[int]) -> dict[str, FinalPlace]:
        for attack in ("sharp", "blunt"):
            for sample in samples:
                rows["strong", attack][sample] = SampleRow(Outcome.FAILED, WORST, 1000)
        return {place.player: place for place in advance(replace(known, results=rows)).places}

    places = held((2, 3))
    # half is not enough: on the other half it was broken
    assert (places["strong"].not_broken, places["strong"].failures) == (False, 4)
    assert (places["middle"].not_broken, places["middle"].failures) == (False, 0)
    # two samples at 8, two at 100: the interval spans both, and middle's 4 is outside
    assert (places["strong"].value, places["strong"].low, places["strong"].high) == (54.0, 8.0, 100.0)
    # strong and sharp are the better ones in every resample, although intervals overlap
    assert [places[name].separated_from_next for name in ("strong", "middle", "sharp", "blunt")] == [
        *(True, False),
        *(True, False),
    ]
    assert (places["sharp"].high, places["blunt"].low) == (52.0, 12.0)
    assert [(places[name].rank_low, places[name].rank_high) for name in ("sharp", "blunt")] == [(1, 1), (2, 2)]
    places = held((1,))
    assert (places["strong"].not_broken, places["strong"].failures) == (True, 6)


def test_a_pair_of_one_team_counts_for_the_model_and_not_for_the_attack() -> None:
    both = {"strong": ("owls",), "sharp": ("owls",)}
    known = facts()
    known = replace(
        known, entrants=tuple(replace(one, teams=both.get(one.player, ())) for one in known.entrants), sweep=False
    )
    known, states = play(known)
    places = {place.player: place for place in states[-1].places}
    assert (places["strong"].value, places["strong"].worst_opponent) == (8.0, "sharp")
    assert (places["strong"].met, places["strong"].opponents) == (2, 2)
    assert (places["sharp"].value, places["sharp"].worst_opponent) == (4.0, "middle")
    assert (places["sharp"].met, places["sharp"].opponents, places["sharp"].value_against_all) == (1, 2, 6.0)


def test_a_copy_of_an_attack_is_still_scored_by_the_models_of_its_team() -> None:
    # the owls copy the attack of the larks: only the models of the larks do not score it
    teams = {"strong": ("owls",), "sharp": ("larks", "owls"), "weak": ("larks",)}
    known = facts(sweep=False)
    known = replace(known, entrants=tuple(replace(one, teams=teams.get(one.player, ())) for one in known.entrants))
    known = replace(known, entrants=tuple(one for one in known.entrants if one.player != "middle"))
    known = replace(known, priors={**known.priors, TrackName.MODEL: ("weak", "strong")})
    _, states = play(known)
    places = {place.player: place for place in states[-1].places}
    assert (places["sharp"].met, places["sharp"].value, places["sharp"].value_against_all) == (1, 8.0, 4.5)


def test_what_a_round_costs_at_most() -> None:
    # 3 x 3 and 3 x 2 pairs on four samples; fewer attacks than five cannot be cut
    assert ceiling(facts()) == 36 + 24
    assert piece_ends("two-stages", 20, guard=False) == (2, 8, 20)
    assert piece_ends("two-stages", 4, guard=False) == (2, 4)


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (facts(without=BASE), "no models"),
        (facts(without=("dull", "sharp", "blunt")), "no untargeted attacks"),
        (replace(facts(), priors={}), "prior of the track model"),
        (replace(facts(), entrants=(*facts().entrants, RoundEntrant(TrackName.MODEL, "aim", ()))), "twice"),
        (replace(facts(), results={("weak", "sharp"): {4: row("weak", "sharp", 4)}}), "outside 0 to 3"),
        (replace(facts(), results={("weak", "sharp"): {-1: row("weak", "sharp", 0)}}), "outside 0 to 3"),
        (replace(facts(), samples=0), "at least one sample"),
    ],
)
def test_it_rejects_facts_that_contradict_themselves(wrong: RoundFacts, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        advance(wrong)
