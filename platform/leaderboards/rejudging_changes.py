"""What a rejudging changes, or would. Part of the selectors."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q

from accounts.models import Team
from competitions.models import Track
from leaderboards.evaluation_basis import COUNTED, key_in_force, scored_rows
from leaderboards.models import Rejudging
from leaderboards.ranking import Place, places
from leaderboards.replaced_matches import evaluations_using, replaced_matches
from matches.models import SampleResult
from submissions.models import Submission


@dataclass(frozen=True)
class Compared:
    """A submission of a rejudging. Values are None where an evaluation has no score, ranks where it is on no
    board or measured under other terms than those in force.

    `changed` counts the samples, over all opponents, that ended otherwise or at another distance.
    """

    submission: Submission
    team: Team
    value_before: float | None
    value_after: float | None
    rank_before: int | None
    rank_after: int | None
    changed: int
    problem: str


def comparison(rejudging: Rejudging) -> list[Compared]:
    """Each submission of the set without it and with it, by track and submission.

    Ranks are those among the scores that count now, also where the set is applied or dropped since.
    """
    evaluations = list(
        rejudging.evaluations.select_related(
            "replaces", "submission__repository__track", "submission__repository__entry__team"
        ).order_by("submission__repository__track", "submission")
    )
    without, changed = COUNTED & ~Q(rejudging=rejudging), _changed(rejudging)
    boards: dict[Track, tuple[dict[int, Place], dict[int, Place]]] = {}
    for track in {each.submission.repository.track for each in evaluations}:
        in_force = key_in_force(track)
        boards[track] = (
            places(scored_rows(track, without), track.name, in_force),
            places(scored_rows(track, without | Q(rejudging=rejudging)), track.name, in_force),
        )
    rows = []
    for each in evaluations:
        repository = each.submission.repository
        before, after = boards[repository.track]
        rows.append(
            Compared(
                each.submission,
                repository.entry.team,
                value_before=each.replaces.value if each.replaces else None,
                value_after=each.value,
                rank_before=_rank(before, repository.entry_id, each.replaces_id),
                rank_after=_rank(after, repository.entry_id, each.pk),
                changed=changed.get(each.pk, 0),
                problem=each.problem,
            )
        )
    return rows


def scored_again(rejudging: Rejudging) -> list[Submission]:
    """The other submissions that are scored again when the set is published, as they were scored or are being measured
    by matches that it replaces."""
    replaced = replaced_matches(rejudging.competition, also=rejudging)
    concerned = evaluations_using(replaced).exclude(pk__in=rejudging.evaluations.values("replaces"))
    return list(Submission.objects.filter(pk__in=concerned.values("submission")).order_by("pk"))


def _rank(board: dict[int, Place], entry: int, evaluation: int | None) -> int | None:
    place = board.get(entry)
    return place.rank if place and place.evaluation == evaluation else None


def _changed(rejudging: Rejudging) -> dict[int, int]:
    """By evaluation of the set, how many of its rows have no equal among those that it replaces."""
    equal = SampleResult.objects.filter(
        match__evaluations=OuterRef("match__evaluations__replaces"),
        match__model=OuterRef("match__model"),
        match__attack=OuterRef("match__attack"),
        sample=OuterRef("sample"),
        outcome=OuterRef("outcome"),
        distance=OuterRef("distance"),
    )
    rows = (
        SampleResult.objects.filter(match__evaluations__rejudging=rejudging)
        .annotate(equal=Exists(equal))
        .filter(equal=False)
        .order_by()
        .values("match__evaluations")
        .annotate(rows=Count("pk"))
    )
    return dict(rows.values_list("match__evaluations", "rows"))
