"""What a rejudging changes, or would change."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q

from accounts.models import Team
from competitions.models import Track
from formats.query.leaderboards.evaluation_basis import COUNTED, key_in_force, scored_rows
from formats.query.leaderboards.models import Rejudging
from formats.query.leaderboards.ranking import BoardPlace, places
from formats.query.leaderboards.replaced_matches import evaluations_using, replaced_matches
from formats.query.leaderboards.submission_choices import choice_changes
from formats.query.matches.models import SampleResult
from submissions.models import Submission


@dataclass(frozen=True)
class RejudgedSubmission:
    """A submission of a rejudging: `changed` counts the samples, over all opponents, with another outcome or distance.

    Values are None where an evaluation has no score, ranks where it is on no leaderboard or not on the current basis.
    """

    submission: Submission
    team: Team
    value_before: float | None
    value_after: float | None
    rank_before: int | None
    rank_after: int | None
    changed: int
    problem: str


def comparison(rejudging: Rejudging) -> list[RejudgedSubmission]:
    """Return each submission of the set with its ranks without and with the set, by track and submission.

    Ranks are those among the scores that count now, also after the set was published or discarded.
    """
    evaluations = list(
        rejudging.evaluations.select_related(
            "replaces", "submission__repository__track", "submission__repository__entry__team"
        ).order_by("submission__repository__track", "submission")
    )
    without, changed = COUNTED & ~Q(rejudging=rejudging), _changed(rejudging)
    boards: dict[Track, tuple[dict[int, BoardPlace], dict[int, BoardPlace]]] = {}
    for track in {each.submission.repository.track for each in evaluations}:
        in_force, choices = key_in_force(track), choice_changes(track)
        boards[track] = (
            places(scored_rows(track, without), track.name, in_force, choices),
            places(scored_rows(track, without | Q(rejudging=rejudging)), track.name, in_force, choices),
        )
    rows = []
    for each in evaluations:
        repository = each.submission.repository
        before, after = boards[repository.track]
        rows.append(
            RejudgedSubmission(
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
    """Return the other submissions that publishing the set scores again, as they use matches that it replaces."""
    replaced = replaced_matches(rejudging.competition, also=rejudging)
    concerned = evaluations_using(replaced).exclude(pk__in=rejudging.evaluations.values("replaces"))
    return list(Submission.objects.filter(pk__in=concerned.values("submission")).order_by("pk"))


def _rank(board: dict[int, BoardPlace], entry: int, evaluation: int | None) -> int | None:
    place = board.get(entry)
    return place.rank if place and place.evaluation == evaluation else None


def _changed(rejudging: Rejudging) -> dict[int, int]:
    """Return, by evaluation of the set, how many of its rows differ from the replaced ones."""
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
