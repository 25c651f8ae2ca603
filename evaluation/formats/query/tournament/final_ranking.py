"""The final table of a bracket: places for all players, the paper's scores for those of the last stage. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.scoring.scores_v1 import Score, attack_score, model_score
from evaluation.formats.query.tournament.prize_order import prize_order
from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import Plan, Stage
from evaluation.scoring.rank_intervals import rank_intervals


@dataclass(frozen=True)
class FinalPlace:
    """A player's place in its track at the end of the round, from 1.

    For a player that was eliminated before the last stage, the other columns are None or False, and `stage` is the one
    that eliminated it. The score is the paper's median, with its 95 % bootstrap interval over samples. It rests on
    `met` of the `opponents` that count, since an attack is not scored by a model of its own team; `value_against_all`
    is against all of them. `rank_low` and `rank_high` bound the 95 % rank interval among the players of the last stage;
    `separated_from_next` is True where the same test separates the player from the next place. `prize_place` is the
    place among the players of the last stage, compared on common opponents (see `prize_order`): also of those that win
    no prize, since who may is not known here.
    `not_broken`: a model without an adversarial by any counted attack on more than half of the samples.
    `worst_opponent` is a player. `inconsistent`: a model that left because its audits failed; it has no score.
    """

    track: TrackName
    player: str
    place: int
    stage: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    met: int | None = None
    opponents: int | None = None
    value_against_all: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    separated_from_next: bool = False
    prize_place: int | None = None
    failures: int | None = None
    worst_opponent: str | None = None
    not_broken: bool = False
    inconsistent: bool = False


def places(
    track: TrackName, field: Field, plan: Plan, played: Played, failed: NDArray[np.bool_]
) -> tuple[FinalPlace, ...]:
    """Return the places of one track, best first, once `plan` has its result.

    Scores follow Brendel et al. 2020, eq. 2 to 5, over all samples and against the counted opponents of the last stage;
    those of an attack leave out the models of its own team. `failed` marks the `played` triples without an adversarial.
    """
    if plan.result is None:
        raise ValueError("the tournament has no result yet")
    order = plan.result.models if track is TrackName.MODEL else plan.result.attacks
    last = plan.stages[-1]
    gone = plan.result.inconsistent if track is TrackName.MODEL else ()
    in_last = {decision.name for decision in last.decisions if decision.side is track.side}.difference(gone)
    reached = {decision.name: stage.number for stage in plan.stages for decision in stage.decisions}
    found = [
        FinalPlace(track, name, number, reached[name], inconsistent=name in gone)
        for number, name in enumerate(order, 1)
    ]
    finalists = [place for place in found if place.player in in_last]
    scored = _scored(finalists, field, last, played, failed)
    prizes = prize_order(track.side, field, last, played, [place.player for place in finalists])
    by_prize = {name: number for number, name in enumerate(prizes, start=1)}
    return tuple(replace(scored.get(place.player, place), prize_place=by_prize.get(place.player)) for place in found)


def counted_against(field: Field, stage: Stage, side: Side, name: str) -> list[int]:
    """Return the positions of the counted opponents that score a player, in their order in `stage`.

    These are all for a model, and those that are not of its own team for an attack.
    """
    all_counted = counted_opponents(field, stage, side)
    if side is Side.MODEL:
        return all_counted
    attack = [entrant.name for entrant in field.attacks].index(name)
    own = field.own_pairs()[:, attack]
    return [model for model in all_counted if not own[model]]


def counted_opponents(field: Field, stage: Stage, side: Side) -> list[int]:
    """Return the positions of the counted players of the other side, in their order in `stage`."""
    rivals, counted = (
        (field.attacks, stage.counted_attacks) if side is Side.MODEL else (field.models, stage.counted_models)
    )
    positions = {rival.name: place for place, rival in enumerate(rivals)}
    return [positions[rival] for rival in counted]


def _scored(
    finalists: Sequence[FinalPlace], field: Field, last: Stage, played: Played, failed: NDArray[np.bool_]
) -> dict[str, FinalPlace]:
    """Return the `finalists` that have a score, by name, with the score and the rank intervals."""
    if not finalists:
        return {}
    side = finalists[0].track.side
    filled: dict[str, FinalPlace] = {}
    scores: dict[str, Score] = {}
    for place in finalists:
        opponents = counted_against(field, last, side, place.player)
        if opponents:
            score = scores[place.player] = _score(side, field, played, failed, place.player, opponents)
            filled[place.player] = _filled(place, score, field, last, played, failed, opponents)
    ranks = rank_intervals(
        {name: score.value for name, score in scores.items()},
        {name: score.resampled for name, score in scores.items()},
        side,
    )
    following = dict(pairwise(filled))
    return {
        name: replace(
            place,
            rank_low=ranks.intervals[name].low,
            rank_high=ranks.intervals[name].high,
            separated_from_next=name in following and ranks.separated(name, following[name]),
        )
        for name, place in filled.items()
    }


def _score(
    side: Side, field: Field, played: Played, failed: NDArray[np.bool_], name: str, opponents: Sequence[int]
) -> Score:
    if side is Side.MODEL:
        own = [model.name for model in field.models].index(name)
        return model_score(played[own, opponents], failed=failed[own, opponents])
    own = [attack.name for attack in field.attacks].index(name)
    return attack_score(played[opponents, own], failed=failed[opponents, own])


def _filled(
    place: FinalPlace,
    score: Score,
    field: Field,
    last: Stage,
    played: Played,
    failed: NDArray[np.bool_],
    opponents: Sequence[int],
) -> FinalPlace:
    side = place.track.side
    all_counted = counted_opponents(field, last, side)
    rivals = field.attacks if side is Side.MODEL else field.models
    against_all = (
        score if len(opponents) == len(all_counted) else _score(side, field, played, failed, place.player, all_counted)
    )
    unbroken = False
    if side is Side.MODEL:
        own = [model.name for model in field.models].index(place.player)
        unbroken = bool(2 * np.count_nonzero(failed[own, opponents].all(axis=0)) > field.samples)
    return replace(
        place,
        value=score.value,
        low=score.low,
        high=score.high,
        met=len(opponents),
        opponents=len(all_counted),
        value_against_all=against_all.value,
        failures=score.failures,
        worst_opponent=rivals[opponents[score.worst_opponent]].name,
        not_broken=unbroken,
    )
