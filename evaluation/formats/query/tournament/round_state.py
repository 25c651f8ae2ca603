"""A whole round as values: its facts, and everything that follows from them. Pure; shared by the site and `verify`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, product

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.final_ranking import FinalPlace, places
from evaluation.formats.query.tournament.schedule_input import TOP, Field, Played, ScheduledPlayer
from evaluation.formats.query.tournament.schedule_names import schedule_named
from evaluation.formats.query.tournament.schedule_output import Plan, Schedule, StageCeiling, most_triples
from evaluation.formats.query.tournament.warning_sweep import Warned, sweep_samples, swept, warnings


@dataclass(frozen=True)
class RoundEntrant:
    """One player of a track, by its digest, and the teams that submitted it, in order of entry.

    All these teams share its place, but only the first owns it: otherwise a team could submit a copy of an attack, and
    so keep the attack from being scored by its model. A `bundled` player has no owner, even if teams submit copies.
    """

    track: TrackName
    player: str
    teams: tuple[str, ...]
    bundled: bool = False

    @property
    def owners(self) -> frozenset[str]:
        """The team that owns the player, for own pairs; empty for bundled players."""
        return frozenset() if self.bundled else frozenset(self.teams[:1])


@dataclass(frozen=True, slots=True)
class SampleRow:
    """The result of one sample of a pair; `distance` is the scored distance (L2 over pixels / 255)."""

    outcome: Outcome
    distance: float
    queries: int


@dataclass(frozen=True)
class RoundFacts:
    """All facts that a round's outcome follows from.

    `entrants` are in order of entry; `priors` name the players of each track, best first. `results` are keyed by
    (model, attack) and then by sample number, 0 to `samples` - 1. `sweep`: in the end the eliminated attacks meet the
    winning models. `failed_audits` maps pairs to the sample counts (of possible ends of stages) after which the model's
    audit had failed; `kept` maps the models that an organiser keeps in spite of that to the reason.
    """

    schedule: str
    guard: bool
    samples: int
    sweep: bool
    entrants: tuple[RoundEntrant, ...]
    priors: Mapping[TrackName, tuple[str, ...]]
    results: Mapping[tuple[str, str], Mapping[int, SampleRow]]
    failed_audits: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BracketPlan:
    """One tournament of the round: models and untargeted attacks, then the five best models and targeted attacks."""

    track: TrackName
    """The track of its attacks: `UNTARGETED` (which also ranks the models) or `TARGETED`."""
    plan: Plan


@dataclass(frozen=True)
class Request:
    """A pair that must be played on the first `upto` samples before more can be decided."""

    model: str
    attack: str
    upto: int


@dataclass(frozen=True)
class RoundState:
    """The state of a round: either `requests` (not empty), or `places` and `warnings` at its end."""

    brackets: tuple[BracketPlan, ...]
    requests: tuple[Request, ...] = ()
    places: tuple[FinalPlace, ...] = ()
    warnings: tuple[Warned, ...] = ()
    sweeping: bool = False

    @property
    def over(self) -> bool:
        """True if everything is decided."""
        return not self.requests


def advance(facts: RoundFacts) -> RoundState:
    """Return the state of the round: what must be played next, or its outcome.

    The bracket `UNTARGETED` comes first; then `TARGETED`, where such attacks entered, against the five best models;
    then the sweep, where there is one. A model that leaves the targeted bracket as inconsistent is not a winner. Raise
    `NobodyLeftError` where every model left, and `ValueError` where `facts` contradict themselves or one side of the
    untargeted bracket is empty.
    """
    main = _bracket_data(facts, TrackName.UNTARGETED, _named(facts, TrackName.MODEL))
    brackets = [BracketPlan(TrackName.UNTARGETED, main.plan)]
    if main.plan.result is None:
        return RoundState(tuple(brackets), _wanted(main))
    targeted = None
    if any(entrant.track is TrackName.TARGETED for entrant in facts.entrants):
        targeted = _bracket_data(facts, TrackName.TARGETED, main.plan.result.best_models)
        brackets.append(BracketPlan(TrackName.TARGETED, targeted.plan))
        if targeted.plan.result is None:
            return RoundState(tuple(brackets), _wanted(targeted))
        main = replace(main, plan=_without(main.plan, targeted.plan))
    requests = _sweep_requests(main) if facts.sweep else ()
    if requests:
        return RoundState(tuple(brackets), requests, sweeping=True)
    warned = warnings(main.field, main.plan, main.played) if facts.sweep else ()
    return RoundState(tuple(brackets), places=_all_places(main, targeted), warnings=warned)


@dataclass(frozen=True)
class RoundPart:
    """What a stage of the bracket of `track` plays; or, with `swept`, the sweep with the attacks that left in it."""

    track: TrackName
    stage: int
    most: StageCeiling
    swept: bool = False


def round_parts(
    schedule: Schedule, samples: int, players: Mapping[TrackName, int], *, sweep: bool
) -> tuple[RoundPart, ...]:
    """Return the parts of a round with so many `players` of each track, without models that leave as inconsistent."""
    brackets = _ceilings(schedule, samples, players)
    parts = [RoundPart(track, *each) for track, stages in brackets.items() for each in enumerate(stages, 1)]
    if sweep:
        best, count, stages = min(TOP, players[TrackName.MODEL]), sweep_samples(samples), brackets[TrackName.UNTARGETED]
        for number, (stage, following) in enumerate(pairwise(stages), 1):
            pairs, added = best * (stage.attacks - following.attacks), max(0, count - stage.samples)
            if pairs and added:  # the best models have met these attacks on the samples of the stage
                swept = StageCeiling(count, pairs, added, 0, stage.attacks - following.attacks)
                parts.append(RoundPart(TrackName.UNTARGETED, number, swept, swept=True))
    return tuple(parts)


def ceiling(facts: RoundFacts) -> int:
    """Return the upper bound of the triples of the whole round: both brackets and the sweep."""
    players = {track: len(_named(facts, track)) for track in TrackName}
    stages = _ceilings(schedule_named(facts.schedule, guard=facts.guard), facts.samples, players).values()
    most = most_triples(chain.from_iterable(stages))
    if facts.sweep:
        # at least the five best attacks are in the last stage
        eliminated = max(0, players[TrackName.UNTARGETED] - TOP)
        most += min(TOP, players[TrackName.MODEL]) * eliminated * sweep_samples(facts.samples)
    return most


def _ceilings(
    schedule: Schedule, samples: int, players: Mapping[TrackName, int]
) -> dict[TrackName, tuple[StageCeiling, ...]]:
    """Return what the stages of each bracket play at most."""
    models, attacks, targeted = (players[track] for track in TrackName)
    found = {TrackName.UNTARGETED: schedule.ceilings(models, attacks, samples)}
    if targeted:
        found[TrackName.TARGETED] = schedule.ceilings(min(TOP, models), targeted, samples, models_given=True)
    return found


def most_pairs(facts: RoundFacts) -> int:
    """Return how many pairs the whole round never exceeds: both brackets and the sweep, whatever is played."""
    schedule = schedule_named(facts.schedule, guard=facts.guard)
    models, attacks, targeted = (len(_named(facts, track)) for track in TrackName)
    most = schedule.most_pairs(models, attacks, facts.samples)
    if facts.sweep:
        most = min(most + min(TOP, models) * max(0, attacks - TOP), models * attacks)
    return most + schedule.most_pairs(min(TOP, models), targeted, facts.samples, models_given=True)


def piece_ends(schedule_name: str, samples: int, guard: bool) -> tuple[int, ...]:
    """Return the sample counts, ascending, at which a piece must end: those of the stages, and of the sweep."""
    ends = schedule_named(schedule_name, guard=guard).samples_of_stages(samples)
    return tuple(sorted({*ends, sweep_samples(samples)}))


def demanded(facts: RoundFacts, state: RoundState) -> dict[tuple[str, str], int]:
    """Return every pair (model, attack) demanded up to `state`, with its number of samples, from the first."""
    asked: dict[tuple[str, str], int] = {}
    main, *targeted = state.brackets
    fields = [_field(facts, main.track, _named(facts, TrackName.MODEL))]
    if targeted and main.plan.result:
        fields.append(_field(facts, TrackName.TARGETED, main.plan.result.best_models))
    for bracket, entered in zip(state.brackets, fields, strict=True):
        for demand in bracket.plan.demands:
            for model, attack in product(demand.models, demand.attacks):
                pair = entered.models[model].name, entered.attacks[attack].name
                asked[pair] = max(demand.samples, asked.get(pair, 0))
    if facts.sweep and (state.over or state.sweeping):
        over = _without(main.plan, targeted[0].plan) if targeted else main.plan
        for model, attack in swept(fields[0], over):
            pair = fields[0].models[model].name, fields[0].attacks[attack].name
            asked[pair] = max(sweep_samples(facts.samples), asked.get(pair, 0))
    return asked


@dataclass(frozen=True)
class _Rows:
    """The rows of the pairs of a field, with model, attack and sample of each, as arrays."""

    places: tuple[NDArray[np.int64], ...]
    rows: Sequence[SampleRow]


@dataclass(frozen=True)
class _BracketData:
    """One bracket as arrays: its field, its results and its plan."""

    field: Field
    rows: _Rows
    played: Played
    plan: Plan

    def failed(self) -> NDArray[np.bool_]:
        """The triples without an adversarial."""
        failed, no_adversarial = np.zeros(self.played.shape, np.bool_), Outcome.FAILED
        failed[self.rows.places] = [row.outcome is no_adversarial for row in self.rows.rows]
        return failed


def _bracket_data(facts: RoundFacts, track: TrackName, models: Sequence[str]) -> _BracketData:
    field = _field(facts, track, models)
    rows = _rows(facts, field)
    played = _played(field, rows)
    return _BracketData(field, rows, played, schedule_named(facts.schedule, guard=facts.guard).plan(field, played))


def _without(main: Plan, targeted: Plan) -> Plan:
    """Return the models' bracket; models that left the targeted one as inconsistent also left this one, at its end."""
    if main.result is None or targeted.result is None or not targeted.result.inconsistent:
        return main
    gone = (*targeted.result.inconsistent, *main.result.inconsistent)
    stayed = tuple(name for name in main.result.models if name not in gone)
    return replace(main, result=replace(main.result, models=(*stayed, *gone), inconsistent=gone))


def _field(facts: RoundFacts, track: TrackName, models: Sequence[str]) -> Field:
    """Return the field of the bracket of `models` (best first, where they are given) and the attacks of `track`."""
    given = track is TrackName.TARGETED
    ranked = tuple(
        entrant for entrant in facts.entrants if entrant.track is TrackName.MODEL and entrant.player in models
    )
    rivals = tuple(entrant for entrant in facts.entrants if entrant.track is track)
    if not ranked or not rivals:
        raise ValueError(
            f"the round has no {'models' if not ranked else f'{track} attacks'}: one side alone cannot play"
        )
    if len({entrant.player for entrant in facts.entrants}) < len(facts.entrants):
        raise ValueError("a player is listed twice in the round")
    return Field(
        models=tuple(ScheduledPlayer(entrant.player, entrant.owners) for entrant in ranked),
        attacks=tuple(ScheduledPlayer(entrant.player, entrant.owners) for entrant in rivals),
        model_prior=_positions(ranked, models if given else facts.priors.get(TrackName.MODEL, ())),
        attack_prior=_positions(rivals, facts.priors.get(track, ())),
        samples=facts.samples,
        models_given=given,
        failed_audits=_failed_audits(facts, ranked, rivals),
    )


def _failed_audits(
    facts: RoundFacts, models: Sequence[RoundEntrant], attacks: Sequence[RoundEntrant]
) -> dict[tuple[int, int], frozenset[int]]:
    """Return the failed audits by positions, without the models that were kept."""
    rows = {entrant.player: place for place, entrant in enumerate(models) if entrant.player not in facts.kept}
    columns = {entrant.player: place for place, entrant in enumerate(attacks)}
    return {
        (rows[model], columns[attack]): frozenset(counts)
        for (model, attack), counts in facts.failed_audits.items()
        if model in rows and attack in columns
    }


def _named(facts: RoundFacts, track: TrackName) -> tuple[str, ...]:
    return tuple(entrant.player for entrant in facts.entrants if entrant.track is track)


def _positions(entrants: Sequence[RoundEntrant], prior: Sequence[str]) -> tuple[int, ...]:
    positions = {entrant.player: place for place, entrant in enumerate(entrants)}
    if sorted(prior) != sorted(positions):
        raise ValueError(f"the prior of the track {entrants[0].track} does not name each of its players once")
    return tuple(positions[name] for name in prior)


def _played(field: Field, rows: _Rows) -> Played:
    """Return the distances of the pairs of `field`."""
    played = np.full((len(field.models), len(field.attacks), field.samples), np.nan)
    numbers = rows.places[-1]
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < field.samples):
        raise ValueError(f"a result names a sample outside 0 to {field.samples - 1}")
    played[rows.places] = [row.distance for row in rows.rows]
    return played


def _rows(facts: RoundFacts, field: Field) -> _Rows:
    models = {entrant.name: place for place, entrant in enumerate(field.models)}
    attacks = {entrant.name: place for place, entrant in enumerate(field.attacks)}
    pairs = [
        (models[model], attacks[attack], rows)
        for (model, attack), rows in facts.results.items()
        if model in models and attack in attacks
    ]
    counts = [len(rows) for _, _, rows in pairs]
    of_models, of_attacks = (np.array([pair[side] for pair in pairs], np.int64).repeat(counts) for side in (0, 1))
    numbers = np.fromiter(chain.from_iterable(rows for _, _, rows in pairs), np.int64, sum(counts))
    return _Rows((of_models, of_attacks, numbers), [row for _, _, rows in pairs for row in rows.values()])


def _wanted(bracket: _BracketData) -> tuple[Request, ...]:
    models, attacks = bracket.field.models, bracket.field.attacks
    return tuple(
        Request(models[want.model].name, attacks[want.attack].name, want.samples[-1] + 1)
        for want in bracket.plan.wanted
    )


def _sweep_requests(main: _BracketData) -> tuple[Request, ...]:
    count = sweep_samples(main.field.samples)
    return tuple(
        Request(main.field.models[model].name, main.field.attacks[attack].name, count)
        for model, attack in swept(main.field, main.plan)
        if np.isnan(main.played[model, attack, :count]).any()
    )


def _all_places(main: _BracketData, targeted: _BracketData | None) -> tuple[FinalPlace, ...]:
    failed = main.failed()
    found = [*places(TrackName.MODEL, main.field, main.plan, main.played, failed)]
    found += places(TrackName.UNTARGETED, main.field, main.plan, main.played, failed)
    if targeted:
        failed = targeted.failed()
        found += places(TrackName.TARGETED, targeted.field, targeted.plan, targeted.played, failed)
    return tuple(found)
