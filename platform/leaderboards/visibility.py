"""Which scores are shown to whom.

While the leaderboards of a competition are frozen, everyone sees what was known at the freeze: the snapshots, and no
evaluation that ended later. Members of a team see the scores of their own submissions, and organisers see everything.
All public scores are read through this module, and by default as the public sees them.
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
from matches.models import Match
from submissions.models import Submission

PAGE_ROWS = 100
"""Rows on a page of a leaderboard."""


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
    """The 95 % rank interval; see `leaderboards.ranking.Place`."""
    separated: bool | None = None
    hardest_match: int | None = None
    """The match against the hardest opponent."""

    @property
    def tries(self) -> int:
        """Number of pairs of counted opponent and sample: `failures` is a part of it."""
        return self.samples * (self.opponents if self.met is None else self.met)

    @property
    def fits(self) -> str:
        """The rank interval in words: "2 to 8", "from 90"; "" if there is none."""
        if self.rank_low is None:
            return ""
        if self.rank_high is None:
            return f"from {self.rank_low}"
        return str(self.rank_low) if self.rank_low == self.rank_high else f"{self.rank_low} to {self.rank_high}"

    @property
    def clean_accuracy(self) -> float | None:
        """Share of samples that a model classifies correctly without an attack; None for attacks."""
        return None if self.clean_wrong is None else 1 - self.clean_wrong / self.samples

    @property
    def not_broken(self) -> bool:
        """Whether a model held on more than half of the samples: its score is then one of the worst cases."""
        return self.held is not None and 2 * self.held > self.samples


_OPPONENTS = PoolPlace.objects.filter(pool=OuterRef("evaluation__pool")).order_by().values("pool")
_HARDEST = Match.objects.filter(
    Q(model=OuterRef("evaluation__worst_opponent")) | Q(attack=OuterRef("evaluation__worst_opponent")),
    evaluations=OuterRef("evaluation"),
)
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
    "hardest_match": Subquery(_HARDEST.values("pk")[:1]),
    "opponents": Coalesce(Subquery(_OPPONENTS.annotate(count=Count("pk")).values("count")), 0),
}


@dataclass(frozen=True)
class BoardFreeze:
    """Start and reason of the freeze of a leaderboard."""

    since: datetime
    reason: str


@dataclass(frozen=True)
class BoardPage:
    """Page `number` of `pages`, from 1, of a leaderboard of `total` rows.

    `highest` is the upper end of the largest interval, without models that were not broken. `frozen` is None where the
    board is live.
    """

    rows: Sequence[BoardRow]
    number: int
    pages: int
    total: int
    frozen: BoardFreeze | None = None
    highest: float = 0.0
    compared: int = COMPARED
    """Number of ranked rows that are compared with each other."""


def sees_live(user: User | AnonymousUser, competition: Competition) -> bool:
    """Return whether the person sees live leaderboards: everyone unless they are frozen, and always organisers."""
    return competition.leaderboards_frozen_since is None or may_organise(user, competition)


def board(
    track: Track,
    page: int | str = 1,
    *,
    frozen: bool | None = None,
    page_rows: int = PAGE_ROWS,
    basis: EvaluationBasis | None = None,
) -> BoardPage:
    """Return a page of the track's leaderboard in a few queries; a page number out of range gives the nearest page.

    The public board, or with `frozen` False the live one, for people of whom `sees_live` is true. Within a tie teams
    are listed by slug, which is no ranking. `basis` is the result of `ranking_basis`, if known.
    """
    freeze, kept = _frozen(track, frozen)
    if freeze is not None:
        chosen = Paginator(kept, page_rows).get_page(page)
        highest = max((row.high for row in map(_kept_row, kept) if not row.not_broken), default=0.0)
    else:
        paginator = Paginator(_standings(track, basis), page_rows)
        broken = Q(evaluation__held__isnull=True) | Q(evaluation__samples__gte=2 * F("evaluation__held"))
        highest_of = Max("evaluation__high", filter=broken)
        known = Standing.objects.filter(track=track).aggregate(count=Count("pk"), highest=highest_of)
        vars(paginator)["count"] = known["count"]  # so that it is not counted twice
        chosen, highest = paginator.get_page(page), known["highest"] or 0.0
    rows = list(map(_row if freeze is None else _kept_row, chosen.object_list))
    paginator = chosen.paginator
    return BoardPage(rows, chosen.number, paginator.num_pages, paginator.count, freeze, highest)


def best(track: Track, count: int, *, frozen: bool | None = None) -> BoardPage:
    """Return the first `count` rows of the track's leaderboard, as in `board`."""
    freeze, kept = _frozen(track, frozen)
    rows = list(map(_row, _standings(track)[:count])) if freeze is None else list(map(_kept_row, kept[:count]))
    return BoardPage(rows, 1, 1, len(rows), freeze)


def rows_of(entry: Entry, *, frozen: bool | None = None) -> list[tuple[Track, BoardRow]]:
    """Return the team's rows on the leaderboards of its competition, as in `board`, in the order of the tracks."""
    found: list[tuple[Track, BoardRow]] = []
    for track in entry.competition.tracks.all():
        freeze, kept = _frozen(track, frozen)
        if freeze is None:
            own = [_row(values) for values in _standings(track).filter(entry=entry)]
        else:
            own = [_kept_row(values) for values in kept if values["team_slug"] == entry.team.slug]
        found += [(track, row) for row in own]
    return found


def rows_now(track: Track) -> list[dict[str, Any]]:
    """Return the whole live board as plain values for JSON, the content of a snapshot."""
    rows = map(_row, _standings(track))
    return [asdict(row) | {"scored_at": row.scored_at.isoformat()} for row in rows]


def evaluation_of(submission: Submission) -> Evaluation | None:
    """Return the newest evaluation of a submission, with its pool, sample set, rules and worst opponent.

    For its team and the organisers. One of a rejudging counts once that is published.
    """
    return _newest(submission, Q())


def public_evaluation_of(submission: Submission) -> Evaluation | None:
    """Return the public view of `evaluation_of`: while leaderboards are frozen, the newest known at the freeze.

    A playing evaluation is returned only if none was known: otherwise a score would vanish while it is measured again.
    """
    since = submission.repository.entry.competition.leaderboards_frozen_since
    if since is None:
        return evaluation_of(submission)
    published = Q(rejudging__isnull=True) | Q(rejudging__settled_at__lte=since)
    known = _newest(submission, Q(finished_at__lte=since) & published)
    return known or _newest(submission, Q(finished_at__isnull=True) & published)


def _newest(submission: Submission, shown: Q) -> Evaluation | None:
    related = ("pool", "sample_set", "rules", "worst_opponent")
    return submission.evaluations.filter(COUNTED, shown).select_related(*related).order_by(*NEWEST).first()


def _frozen(track: Track, frozen: bool | None) -> tuple[BoardFreeze | None, list[dict[str, Any]]]:
    """Return the freeze of the track's public board with its rows; (None, []) to read the live board."""
    since = track.competition.leaderboards_frozen_since
    if since is None or frozen is False:
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
    if shown["provisional"]:  # the stored ranks follow shortly after a new basis
        shown |= {"rank": None, "rank_low": None, "rank_high": None, "separated": None}
    rank = shown["rank"]
    return BoardRow(change=before - rank if before is not None and rank is not None else None, **shown)


def _kept_row(values: Mapping[str, Any]) -> BoardRow:
    return BoardRow(**{**values, "scored_at": datetime.fromisoformat(values["scored_at"])})
