"""Why a submission has its rank: the distance to the next one, the opponent that costs most, and its score before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.urls import reverse

from accounts.models import User
from competitions.board_freezes import sees_live
from competitions.models import Track
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.score_visibility import neighbour_of
from formats.query.pages.comparison_curves import newest
from formats.query.rounds.match_visibility import scores_seen
from formats.query.tracks import MODEL
from pages.player_names import PlayerName
from pages.submission.rank_explanation import Costliest, Neighbour, RankExplanation, change_of_score, other_basis
from pages.templatetags.gauntlet import digits


@dataclass(frozen=True)
class ComparedRank:
    """Why a submission has its rank, the rank of its neighbour, and the neighbour's medians by opponents.

    `theirs` is empty where the neighbour was measured under other rules or on other samples.
    """

    explanation: RankExplanation
    rank: int
    theirs: Mapping[int, float]


def explanation_of(
    track: Track,
    row: BoardRow,
    evaluation: Evaluation,
    user: User | AnonymousUser,
    opponents: Mapping[int, tuple[PlayerName, int | None]],
) -> ComparedRank | None:
    """Return why the submission of a row has its rank; None where it has none.

    `evaluation` is the score that the row shows, `opponents` has the name of each opponent and the match against it.
    Everything here is what the person sees on other pages, too.
    """
    if row.rank is None or row.value != evaluation.value:
        return None
    frozen = not sees_live(user, track.competition)
    better = neighbour_of(track, row, better=True, frozen=frozen)
    neighbour = better or neighbour_of(track, row, better=False, frozen=frozen)
    theirs = _medians(track, neighbour, evaluation, user) if neighbour else {}
    before = _before(track, evaluation, user)
    explanation = RankExplanation(
        neighbour=_named(neighbour, evaluation) if neighbour else None,
        leads=better is None,
        gap=digits(abs(neighbour.value - row.value), evaluation) if neighbour else "",
        compare=_comparison(track, row, neighbour) if neighbour else "",
        costliest=_costliest(track, evaluation, theirs, opponents) if better else None,
        changes=[_changed(before, evaluation)] if before else [],
        history=reverse("pages:history", args=[track.competition.slug, track.name]),
    )
    return ComparedRank(explanation, neighbour.rank or 0 if neighbour else 0, theirs)


def _named(neighbour: BoardRow, evaluation: Evaluation) -> Neighbour:
    name = PlayerName(neighbour.title, neighbour.team, neighbour.submission)
    return Neighbour(neighbour.rank or 0, name, digits(neighbour.value, evaluation))


def _comparison(track: Track, row: BoardRow, neighbour: BoardRow) -> str:
    address = reverse("pages:curves", args=[track.competition.slug, track.name])
    return f"{address}?submission={row.submission}&submission={neighbour.submission}"


def _medians(
    track: Track, neighbour: BoardRow, evaluation: Evaluation, user: User | AnonymousUser
) -> Mapping[int, float]:
    other = newest(track, [neighbour.submission], user).get(neighbour.submission)
    if other is None or (other.rules_id, other.sample_set_id) != (evaluation.rules_id, evaluation.sample_set_id):
        return {}
    return {each["player"]: each["median"] for each in other.per_opponent}


def _costliest(
    track: Track,
    evaluation: Evaluation,
    theirs: Mapping[int, float],
    opponents: Mapping[int, tuple[PlayerName, int | None]],
) -> Costliest | None:
    sign = 1 if track.name == MODEL else -1
    own = {each["player"]: each["median"] for each in evaluation.per_opponent if not each.get("own", False)}
    losses = {player: sign * (theirs[player] - median) for player, median in own.items() if player in theirs}
    costliest = max(losses, key=lambda player: losses[player], default=None)
    if costliest is None or losses[costliest] <= 0:
        return None
    name, match = opponents[costliest]
    return Costliest(
        name.title,
        digits(own[costliest], evaluation),
        digits(theirs[costliest], evaluation),
        reverse("pages:match", args=[match]) if match else "",
    )


def _before(track: Track, evaluation: Evaluation, user: User | AnonymousUser) -> Evaluation | None:
    """Return the newest score of the same submission under an earlier pool, earlier rules or samples."""
    earlier = Evaluation.objects.filter(
        scores_seen(track.competition, user), submission=evaluation.submission_id, pk__lt=evaluation.pk
    ).exclude(pool=evaluation.pool_id, rules=evaluation.rules_id, sample_set=evaluation.sample_set_id)
    return earlier.select_related("pool", "rules").order_by("-pk").first()


def _changed(before: Evaluation, now: Evaluation) -> str:
    pool = [f"pool {now.pool.number}"] if before.pool_id != now.pool_id else []
    then, value = (f"{digits(each.value, each)} (pool {each.pool.number})" for each in (before, now))
    return change_of_score([*pool, *other_basis(before, now)], then, value)
