"""Adapter: how much of a team's best score may be luck on one sample set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

import numpy as np
from django.db.models import Count, QuerySet, Subquery

from competitions.board_freezes import frozen_since
from competitions.models import Entry, SampleSet, Track
from competitions.sample_set_selectors import imported_sets
from core import optional_cache
from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.scoring.paired_test import ScoreDifference, paired_difference
from evaluation.formats.query.scoring.scored_distances import scored_distance
from evaluation.formats.query.scoring.selection_effect import gain_by_luck
from evaluation.scoring.distances import Distances
from formats.query.leaderboards.evaluation_basis import COUNTED, NEWEST, ranking_basis
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.player_owners import left_out
from formats.query.leaderboards.scoring_adapter import SEED
from formats.query.matches.models import SampleResult

EXAMPLES = (5, 35, 150)
"""Numbers of submissions for which a board shows the effect of luck: a day, a week and a month at five a day."""

_KEPT_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True)
class Chance:
    """Expected share by which the best of `submissions` equally strong submissions looks better than it is."""

    submissions: int
    gain: float


@dataclass(frozen=True)
class BoardLuck:
    """What a leaderboard says about luck: `measured` counts submissions on the current set, by team slug."""

    samples: int
    chances: tuple[Chance, ...]
    measured: Mapping[str, int]


@dataclass(frozen=True)
class SubmissionDifference:
    """Score difference between a submission and an earlier one on the same basis."""

    older: int
    difference: ScoreDifference
    better: bool
    """Whether the newer submission's score is better, separated or not."""


@dataclass(frozen=True)
class TrackLuck:
    """A team on a track: its submissions on the current set, and its newest scored one.

    `compared` is None where no earlier one was measured on the same basis.
    """

    track: Track
    samples: int
    chance: Chance
    newest: int | None
    compared: SubmissionDifference | None


def luck_on(track: Track, teams: Collection[str], *, until: datetime | None = None) -> BoardLuck | None:
    """Return what the leaderboard of a track says about luck, for the teams with these slugs, in one query.

    None if none of their submissions was measured on the current validation set. Scores after `until` are not counted,
    as on a leaderboard that is frozen since then.
    """
    sets = imported_sets(track.competition).filter(purpose=SampleSet.Purpose.VALIDATION).order_by("-pk")
    slug = "submission__repository__entry__team__slug"
    rows = _scored(track, until).filter(sample_set=Subquery(sets.values("pk")[:1]), **{f"{slug}__in": teams})
    counts = (
        rows.order_by().values_list(slug, "sample_set__count").annotate(measured=Count("submission", distinct=True))
    )
    found = list(counts)
    if not found:
        return None
    samples, side = found[0][1], TrackName(track.name).side
    chances = tuple(chance_of(side, count, samples) for count in EXAMPLES)
    return BoardLuck(samples, chances, {team: measured for team, _, measured in found})


def luck_of(entry: Entry, *, inside: bool) -> list[TrackLuck]:
    """Return the team's `TrackLuck` on each track with a measured submission.

    The comparison, and what a frozen leaderboard hides, are only for its members and the organisers (`inside`).
    """
    found = []
    until = None if inside else frozen_since(entry.competition)
    for track in entry.competition.tracks.all():
        basis, side = ranking_basis(track), TrackName(track.name).side
        if basis is None:
            continue
        own = _scored(track, until).filter(submission__repository__entry=entry)
        count = own.filter(sample_set=basis.sample_set).values("submission").distinct().count()
        newest = own.order_by("-submission_id", *NEWEST).first() if inside else None
        if count or newest:
            chance = chance_of(side, count, basis.sample_set.count)
            compared = _compared(newest, own, side) if newest else None
            number = newest.submission_id if newest else None
            found.append(TrackLuck(track, basis.sample_set.count, chance, number, compared))
    return found


def chance_of(side: Side, submissions: int, samples: int) -> Chance:
    """Return the expected gain of the best of `submissions`, 0 for none."""
    return Chance(submissions, gain_by_luck(side, submissions, samples) if submissions else 0.0)


def _scored(track: Track, until: datetime | None) -> QuerySet[Evaluation]:
    rows = Evaluation.objects.filter(COUNTED, submission__repository__track=track, state=Evaluation.State.SCORED)
    return rows if until is None else rows.filter(finished_at__lte=until)


def _compared(newest: Evaluation, own: QuerySet[Evaluation], side: Side) -> SubmissionDifference | None:
    """Compare with the previous submission among those measured on the same basis."""
    basis = {name: getattr(newest, name) for name in ("pool", "rules", "sample_set")}
    older = own.filter(**basis, submission__lt=newest.submission_id).order_by("-submission_id", "-pk").first()
    if older is None:
        return None
    # only a repair changes scores, and it also changes the key
    key = f"paired-difference:{newest.pk}:{newest.value!r}:{older.pk}:{older.value!r}"
    kept = optional_cache.get(key)
    if kept is not None:
        difference = ScoreDifference(**kept)
    else:
        rows = _distances(newest, side), _distances(older, side)
        if not rows[0].size or rows[0].shape != rows[1].shape:
            return None  # it met only models of its own team
        difference = paired_difference(*rows, side, SEED)
        optional_cache.put(key, asdict(difference), _KEPT_SECONDS)
    return SubmissionDifference(older.submission_id, difference, better=(difference.value > 0) == (side is Side.MODEL))


def _distances(evaluation: Evaluation, side: Side) -> Distances:
    """Return the scored distances of the score, (opponents, samples), in the order of the opponents' keys.

    Rows that the score excludes, such as an attack's own team's models, are excluded.
    """
    opponent = "match__attack" if side is Side.MODEL else "match__model"
    rows = SampleResult.objects.filter(match__evaluations=evaluation).order_by(opponent, "sample")
    if side is Side.ATTACK:
        rows = rows.exclude(match__model__in=left_out(evaluation))
    by_opponent: dict[int, list[float]] = {}
    for key, outcome, distance, worst in rows.values_list(opponent, "outcome", "distance", "worst_case"):
        by_opponent.setdefault(key, []).append(scored_distance(Outcome(outcome), distance, worst))
    return np.array(list(by_opponent.values()))
