"""Rows of a leaderboard, read from standings and from snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from competitions.models import Track
from core.rank_interval_text import rank_range
from evaluation.domain.players import Side
from formats.query.leaderboards.evaluation_basis import EvaluationBasis, key_in_force, measured_under
from formats.query.leaderboards.models import Evaluation, PoolPlace, Standing
from formats.query.leaderboards.selection_effect import chance_of
from formats.query.matches.models import Match


@dataclass(frozen=True)
class BoardRow:
    """Row of a leaderboard. `change` is ranks won (above 0) or lost in a day on the same basis, None if it had none.

    `rules` is the version of the rules of its score, `pool` the number of the pool. `provisional`: its pool, rules or
    samples are not the current ones, so it has no rank; it is measured again when workers are idle. The fields with
    defaults are missing in old snapshots, in which provisional rows have ranks.
    """

    rank: int | None
    change: int | None
    team: str
    team_slug: str
    ineligible_for_prizes: bool
    submission: int
    title: str
    value: float
    low: float
    high: float
    samples: int
    failures: int
    worst_opponent: str
    median_seconds: float
    rules: int
    provisional: bool
    scored_at: datetime
    opponents: int = 0
    """Size of the pool; 0 where it is not known."""
    met: int | None = None
    """Number of opponents that count: an attack's score excludes models of its own team."""
    value_all: float | None = None
    """The score against all of them, where some do not count."""
    held: int | None = None
    """For a model, the number of samples on which no opponent found an adversarial."""
    clean_wrong: int | None = None
    """For a model, the number of samples that it misclassified without an attack."""
    pool: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    """The 95 % rank interval; see `formats.query.leaderboards.ranking.BoardPlace`."""
    separated: bool | None = None
    hardest_match: int | None = None
    """The match against the hardest opponent."""
    chosen: bool = False
    """Whether the team chose this submission; otherwise it is the newest scored one."""
    tried: int | None = None
    """How many submissions the team could choose from, with a score on the same samples; None where the newest one
    counts."""

    @property
    def expected_gain(self) -> float | None:
        """Share by which the best of `tried` equally strong submissions is expected to look better than it is."""
        if self.tried is None:
            return None
        side = Side.ATTACK if self.clean_wrong is None else Side.MODEL
        return chance_of(side, self.tried, self.samples).gain

    @property
    def tries(self) -> int:
        """Number of pairs of counted opponent and sample: `failures` is a part of it."""
        return self.samples * (self.opponents if self.met is None else self.met)

    @property
    def fits(self) -> str:
        """The rank interval in words, "" if there is none."""
        return rank_range(self.rank_low, self.rank_high)

    @property
    def clean_accuracy(self) -> float | None:
        """Share of samples that a model classifies correctly without an attack; None for attacks."""
        return None if self.clean_wrong is None else 1 - self.clean_wrong / self.samples

    @property
    def not_broken(self) -> bool:
        """Whether a model held on more than half of the samples: its score is then one of the worst cases."""
        return self.held is not None and 2 * self.held > self.samples


_PATHS = {
    "team": "entry__team__name",
    "team_slug": "entry__team__slug",
    "ineligible_for_prizes": "entry__ineligible_for_prizes",
    "submission": "evaluation__submission_id",
    "title": "evaluation__submission__title",
    "worst_opponent": "evaluation__worst_opponent__title",
    "rules": "evaluation__rules__version",
    "scored_at": "evaluation__finished_at",
    "pool": "evaluation__pool__number",
    **{name: f"evaluation__{name}" for name in ("value", "low", "high", "samples", "failures", "median_seconds")},
    **{name: f"evaluation__{name}" for name in ("met", "value_all", "held", "clean_wrong")},
}
"""Columns of a row, as paths from a standing."""


def _derived(evaluation: str = "") -> dict[str, Any]:
    """Return the expressions of columns that are no path; `evaluation` is the prefix that leads to the evaluation."""
    places = PoolPlace.objects.filter(pool=OuterRef(f"{evaluation}pool")).order_by().values("pool")
    own, hardest = OuterRef(f"{evaluation}submission__player"), OuterRef(f"{evaluation}worst_opponent")
    matches = Match.objects.filter(
        Q(model=own, attack=hardest) | Q(model=hardest, attack=own),
        # its evaluation has few matches or thousands: with rules and sample set, the index leads to one
        rules=OuterRef(f"{evaluation}rules"),
        sample_set=OuterRef(f"{evaluation}sample_set"),
        evaluations=OuterRef(f"{evaluation}pk"),
    ).order_by("pk")
    return {
        "opponents": Coalesce(Subquery(places.annotate(count=Count("pk")).values("count")), 0),
        "hardest_match": Subquery(matches.values("pk")[:1]),
    }


def standings_of(track: Track, basis: EvaluationBasis | None = None) -> QuerySet[Standing, Any]:
    """Return the rows of the track's live leaderboard as values for `standing_row`, in their order."""
    in_force = measured_under(basis.key if basis else key_in_force(track))
    return standing_values(Standing.objects.filter(track=track), in_force)


def standing_values(rows: QuerySet[Standing], in_force: Q, *columns: str) -> QuerySet[Standing, Any]:
    """Return standings as values for `standing_row`, with further `columns`; `in_force` marks those with a rank."""
    provisional = Case(When(in_force, then=Value(False)), default=Value(True))
    ranks = ("rank", "previous_rank", "rank_low", "rank_high", "separated", "chosen", "tried")
    paths = {name: F(path) for name, path in _PATHS.items()} | _derived("evaluation__")
    values: QuerySet[Standing, Any] = rows.values(*columns, *ranks, provisional=provisional, **paths)
    return values.order_by("place", "entry__team__slug")


def evaluation_columns(evaluations: QuerySet[Evaluation]) -> dict[int, dict[str, Any]]:
    """Return the columns of a row for each evaluation, by its key, in one query: all but the ranks."""
    paths = [_from_evaluation(path) for path in _PATHS.values()]
    derived = _derived()
    found = evaluations.order_by().values_list("pk", *paths, *derived.values())
    return {key: dict(zip((*_PATHS, *derived), values, strict=True)) for key, *values in found}


def _from_evaluation(path: str) -> str:
    if path.startswith("entry__"):
        return f"submission__repository__{path}"
    return path.removeprefix("evaluation__")


def standing_row(values: Mapping[str, Any]) -> BoardRow:
    """Return the row of a standing."""
    shown = dict(values)
    before = shown.pop("previous_rank")
    if shown["provisional"]:  # the stored ranks follow shortly after a new basis
        shown |= {"rank": None, "rank_low": None, "rank_high": None, "separated": None}
    rank = shown["rank"]
    return BoardRow(change=before - rank if before is not None and rank is not None else None, **shown)


def kept_row(values: Mapping[str, Any]) -> BoardRow:
    """Return the row of a snapshot."""
    return BoardRow(**{**values, "scored_at": datetime.fromisoformat(values["scored_at"])})
