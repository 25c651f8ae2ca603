"""The final table of a bracket: places for everybody, the paper's scores for those of the last stage. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side, Track
from evaluation.scoring.v1 import Score, attack_score, model_score
from evaluation.tournament.field import Field, Played
from evaluation.tournament.plan import Plan, Stage


@dataclass(frozen=True)
class Place:
    """A player's place in its track when the round is over, from 1.

    The score columns are those of the last stage (paper's median, 95 % bootstrap interval over samples), None for a
    player that was cut before: `stage` then tells where. `not_broken`: a model that held against all counted attacks
    on more than half of the samples. `unseparated`: the interval does not separate it from the next place.
    `worst_opponent` is a player. `inconsistent`: a model that left because its audits did not pass; it has no score.
    """

    track: Track
    player: str
    place: int
    stage: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    failures: int | None = None
    worst_opponent: str | None = None
    not_broken: bool = False
    unseparated: bool = False
    inconsistent: bool = False


def places(track: Track, field: Field, plan: Plan, played: Played, failed: NDArray[np.bool_]) -> tuple[Place, ...]:
    """The places of one track, best first, once `plan` has its result.

    Scores are eq. 2 to 5 of seed 000 over all samples, against the counted opponents of the last stage that are not of
    the player's own team. `failed` says which of the `played` triples found no adversarial.
    """
    if plan.result is None:
        raise ValueError("the tournament has no result yet")
    order = plan.result.models if track is Track.MODEL else plan.result.attacks
    last = plan.stages[-1]
    gone = plan.result.inconsistent if track is Track.MODEL else ()
    in_last = {decision.name for decision in last.decisions if decision.side is track.side}.difference(gone)
    reached = {decision.name: stage.number for stage in plan.stages for decision in stage.decisions}
    found = []
    for number, name in enumerate(order, start=1):
        place = Place(track, name, number, reached[name], inconsistent=name in gone)
        found.append(_scored(place, field, last, played, failed) if name in in_last else place)
    pairs = zip(found, [*found[1:], None], strict=True)
    return tuple(replace(one, unseparated=_overlap(one, after)) for one, after in pairs)


def counted_against(field: Field, stage: Stage, side: Side, name: str) -> list[int]:
    """The positions of the counted opponents of a player in `stage`, in their order there; none of its own team."""
    rivals, counted = (
        (field.attacks, stage.counted_attacks) if side is Side.MODEL else (field.models, stage.counted_models)
    )
    own = next(entrant for entrant in (*field.models, *field.attacks) if entrant.name == name).teams
    positions = {rival.name: place for place, rival in enumerate(rivals)}
    return [positions[rival] for rival in counted if not rivals[positions[rival]].teams & own]


def _scored(place: Place, field: Field, last: Stage, played: Played, failed: NDArray[np.bool_]) -> Place:
    side = place.track.side
    opponents = counted_against(field, last, side, place.player)
    if not opponents:
        return place
    if side is Side.MODEL:
        own = [model.name for model in field.models].index(place.player)
        distances, failures = played[own, opponents], failed[own, opponents]
        score, names = model_score(distances, failed=failures), [field.attacks[rival].name for rival in opponents]
    else:
        own = [attack.name for attack in field.attacks].index(place.player)
        distances, failures = played[opponents, own], failed[opponents, own]
        score, names = attack_score(distances, failed=failures), [field.models[rival].name for rival in opponents]
    unbroken = side is Side.MODEL and 2 * np.count_nonzero(failures.all(axis=0)) > field.samples
    return _filled(place, score, names, not_broken=bool(unbroken))


def _filled(place: Place, score: Score, opponents: Sequence[str], *, not_broken: bool) -> Place:
    return replace(
        place,
        value=score.value,
        low=score.low,
        high=score.high,
        failures=score.failures,
        worst_opponent=opponents[score.worst_opponent],
        not_broken=not_broken,
    )


def _overlap(one: Place, after: Place | None) -> bool:
    if after is None or one.low is None or one.high is None or after.low is None or after.high is None:
        return False
    return one.low <= after.high and after.low <= one.high
