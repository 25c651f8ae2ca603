"""What is shown of scores, and to whom. Part of the selectors.

While the boards of a competition stand still, everybody sees what was known when that began: the snapshots of the
boards, and no evaluation that ended later. The members of a team see the scores of their own submissions, and
organisers see everything. All that is public is read through here, and is shown as to a stranger unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.paginator import Paginator
from django.db.models import Case, Count, F, Max, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from accounts.models import User
from competitions.models import Competition, Entry, Track
from competitions.selectors import may_organise
from leaderboards.evaluation_basis import COUNTED, NEWEST, EvaluationBasis, key_in_force, measured_under
from leaderboards.models import Evaluation, PoolPlace, Standing
from leaderboards.ranking import COMPARED
from submissions.models import Submission

PAGE_ROWS = 100
"""Rows on a page of a leaderboard."""


@dataclass(frozen=True)
class BoardRow:
    """One line of a leaderboard. `change` is places won (above 0) or lost in a day among ranks under the same terms,
    None where it had none.

    `rules` is the version that it was measured under, `pool` the number of the pool. `provisional`: its pool, rules or
    samples are not those in force, so it has no rank; it is measured again when workers are idle. The fields with
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
    """How many are in the pool; 0 where it is not known."""
    met: int | None = None
    """How many of them count: an attack's score leaves out models of its own team."""
    value_all: float | None = None
    """The score against all of them, where some do not count."""
    held: int | None = None
    """Of a model, on how many samples no opponent found an adversarial."""
    clean_wrong: int | None = None
    """Of a model, how many samples it got wrong without an attack."""
    pool: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    """The 95 % rank interval; see `leaderboards.ranking.Place`."""
    separated: bool | None = None

    @property
    def tries(self) -> int:
        """How many pairs of counted opponent and sample there were: what `failures` is a part of."""
        return self.samples * (self.opponents if self.met is None else self.met)

    @property
    def fits(self) -> str:
        """The rank interval in words: "2 to 8", "from 90"; "" where there is none."""
        if self.rank_low is None:
            return ""
        if self.rank_high is None:
            return f"from {self.rank_low}"
        return str(self.rank_low) if self.rank_low == self.rank_high else f"{self.rank_low} to {self.rank_high}"

    @property
    def clean_accuracy(self) -> float | None:
        """The share of samples that a model gets right without an attack; None for attacks."""
        return None if self.clean_wrong is None else 1 - self.clean_wrong / self.samples

    @property
    def not_broken(self) -> bool:
        """Whether a model held on more than half of the samples: its score is then one of the worst cases."""
        return self.held is not None and 2 * self.held > self.samples


_OPPONENTS = PoolPlace.objects.filter(pool=OuterRef("evaluation__pool")).order_by().values("pool")
_COLUMNS = {
    "team": F("entry__team__name"),
    "team_slug": F("entry__team__slug"),
    "ineligible_for_prizes": F("entry__ineligible_for_prizes"),
    "submission": F("evaluation__submission_id"),
    "title": F("evaluation__submission__title"),
    "value": F("evaluation__value"),
    "low": F("evaluation__low"),
    "high": F("evaluation__high"),
    "samples": F("evaluation__samples"),
    "failures": F("evaluation__failures"),
    "worst_opponent": F("evaluation__worst_opponent__title"),
    "median_seconds": F("evaluation__median_seconds"),
    "rules": F("evaluation__rules__version"),
    "scored_at": F("evaluation__finished_at"),
    "pool": F("evaluation__pool__number"),
    **{name: F(f"evaluation__{name}") for name in ("met", "value_all", "held", "clean_wrong")},
    "opponents": Coalesce(Subquery(_OPPONENTS.annotate(count=Count("pk")).values("count")), 0),
}


@dataclass(frozen=True)
class BoardFreeze:
    """Since when a board stands still, and why."""

    since: datetime
    reason: str


@dataclass(frozen=True)
class BoardPage:
    """A page of a leaderboard: page `number` of `pages`, from 1, of a board of `total` rows, of which the largest
    interval ends at `highest`, without those of models that were not broken.

    `still` is None where it is the board as it is now.
    """

    rows: Sequence[BoardRow]
    number: int
    pages: int
    total: int
    still: BoardFreeze | None = None
    highest: float = 0.0
    compared: int = COMPARED
    """How many ranked rows are compared with each other."""


def sees_live(user: User | AnonymousUser, competition: Competition) -> bool:
    """Whether the person sees boards and scores as they are now: everyone while they move, else organisers."""
    return competition.leaderboards_frozen_since is None or may_organise(user, competition)


def board(
    track: Track,
    page: int | str = 1,
    *,
    still: bool | None = None,
    page_rows: int = PAGE_ROWS,
    basis: EvaluationBasis | None = None,
) -> BoardPage:
    """A page of the track's leaderboard in a few queries; a number that is no page gives the nearest one.

    As everybody sees it; with `still` False as it is now, for those of whom `sees_live` is true. Within a tie teams are
    listed by their slug, which is no ranking. `basis`: what `ranking_basis` gives, where it is known.
    """
    stillness, frozen = _frozen(track, still)
    if stillness is not None:
        chosen = Paginator(frozen, page_rows).get_page(page)
        highest = max((row.high for row in map(_kept_row, frozen) if not row.not_broken), default=0.0)
    else:
        paginator = Paginator(_standings(track, basis), page_rows)
        broken = Q(evaluation__held__isnull=True) | Q(evaluation__samples__gte=2 * F("evaluation__held"))
        highest_of = Max("evaluation__high", filter=broken)
        known = Standing.objects.filter(track=track).aggregate(count=Count("pk"), highest=highest_of)
        vars(paginator)["count"] = known["count"]  # so that it is not counted twice
        chosen, highest = paginator.get_page(page), known["highest"] or 0.0
    rows = list(map(_row if stillness is None else _kept_row, chosen.object_list))
    paginator = chosen.paginator
    return BoardPage(rows, chosen.number, paginator.num_pages, paginator.count, stillness, highest)


def best(track: Track, count: int, *, still: bool | None = None) -> BoardPage:
    """The first `count` rows of the track's leaderboard, as `board` gives it."""
    stillness, frozen = _frozen(track, still)
    rows = list(map(_row, _standings(track)[:count])) if stillness is None else list(map(_kept_row, frozen[:count]))
    return BoardPage(rows, 1, 1, len(rows), stillness)


def rows_of(entry: Entry, *, still: bool | None = None) -> list[tuple[Track, BoardRow]]:
    """The team's lines on the boards of its competition, as `board` gives them, in the order of the tracks."""
    found: list[tuple[Track, BoardRow]] = []
    for track in entry.competition.tracks.all():
        stillness, frozen = _frozen(track, still)
        if stillness is None:
            own = [_row(values) for values in _standings(track).filter(entry=entry)]
        else:
            own = [_kept_row(values) for values in frozen if values["team_slug"] == entry.team.slug]
        found += [(track, row) for row in own]
    return found


def rows_now(track: Track) -> list[dict[str, Any]]:
    """The whole board as it is now, as plain values ready for JSON: what a snapshot keeps."""
    rows = map(_row, _standings(track))
    return [asdict(row) | {"scored_at": row.scored_at.isoformat()} for row in rows]


def evaluation_of(submission: Submission) -> Evaluation | None:
    """The newest evaluation of a submission, with its pool, sample set, rules and worst opponent.

    For its team and the organisers. One of a rejudging counts once that is applied.
    """
    return _newest(submission, Q())


def public_evaluation_of(submission: Submission) -> Evaluation | None:
    """What everybody sees of `evaluation_of`: while the boards stand still, the newest that was known before.

    One that is played now is seen only where nothing was known: else a score would vanish while it is measured again.
    """
    since = submission.repository.entry.competition.leaderboards_frozen_since
    if since is None:
        return evaluation_of(submission)
    applied = Q(rejudging__isnull=True) | Q(rejudging__settled_at__lte=since)
    known = _newest(submission, Q(finished_at__lte=since) & applied)
    return known or _newest(submission, Q(finished_at__isnull=True) & applied)


def _newest(submission: Submission, shown: Q) -> Evaluation | None:
    related = ("pool", "sample_set", "rules", "worst_opponent")
    return submission.evaluations.filter(COUNTED, shown).select_related(*related).order_by(*NEWEST).first()


def _frozen(track: Track, still: bool | None) -> tuple[BoardFreeze | None, list[dict[str, Any]]]:
    """Since when the public board of the track stands still, with its rows; (None, []) where it is to be read now."""
    since = track.competition.leaderboards_frozen_since
    if since is None or still is False:
        return None, []
    snapshot = track.snapshots.filter(made_at__lte=since).order_by("-pk").first()
    if snapshot is None:
        return BoardFreeze(since, ""), []
    return BoardFreeze(since, snapshot.reason), snapshot.rows


def _standings(track: Track, basis: EvaluationBasis | None = None) -> QuerySet[Standing, Any]:
    in_force = basis.key if basis else key_in_force(track)
    provisional = Case(When(measured_under(in_force), then=Value(False)), default=Value(True))
    ranks = ("rank", "previous_rank", "rank_low", "rank_high", "separated")
    rows: QuerySet[Standing, Any] = Standing.objects.filter(track=track).values(
        *ranks, provisional=provisional, **_COLUMNS
    )
    return rows.order_by("place", "entry__team__slug")


def _row(values: Mapping[str, Any]) -> BoardRow:
    shown = dict(values)
    before = shown.pop("previous_rank")
    if shown["provisional"]:  # the stored ranks follow a moment after the terms
        shown |= {"rank": None, "rank_low": None, "rank_high": None, "separated": None}
    rank = shown["rank"]
    return BoardRow(change=before - rank if before is not None and rank is not None else None, **shown)


def _kept_row(values: Mapping[str, Any]) -> BoardRow:
    return BoardRow(**{**values, "scored_at": datetime.fromisoformat(values["scored_at"])})
