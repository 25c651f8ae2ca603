"""Why a submission has its rank under a threat model: the distance to the next one, and the attack that costs most."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from django.urls import reverse

from competitions.models import SampleSet
from formats.curves.listed_attacks import attack_title
from formats.curves.models import Benchmark, ModelScore
from formats.curves.pages.board_page_data import address_of
from formats.curves.threat_model_boards import CurvesBoard, ThreatModelOfBoard
from pages.player_names import PlayerName
from pages.submission.rank_explanation import (
    Costliest,
    Neighbour,
    RankExplanation,
    change_of_score,
    next_to,
    other_basis,
    percentage_points,
)
from submissions.column_leaderboard import PlainRow

_ACCURACY = CurvesBoard.columns[0]


def explanation_of(
    threat: ThreatModelOfBoard,
    own: PlainRow,
    ranked: Sequence[PlainRow],
    score: ModelScore,
    benchmarks: Sequence[Benchmark],
) -> RankExplanation:
    """Return why a model has its rank among those of a leaderboard (`ranked`, with `own`).

    `score` and its `benchmarks` are those that its row shows.
    """
    track = own.submission.repository.track
    row, leads = next_to(ranked, own, attrgetter("rank"))
    return RankExplanation(
        neighbour=None if row is None else _neighbour(row),
        leads=leads,
        gap="" if row is None else percentage_points(own.scored.values[0] / 100, row.scored.values[0] / 100),
        leaderboard=threat.title,
        compare=address_of("pages:curves", track, threat, [own.submission.pk, row.submission.pk]) if row else "",
        costliest=None if row is None or leads else _costliest(benchmarks, row),
        changes=_changes(score),
        history=reverse("pages:history", args=[track.competition.slug, track.name]),
    )


def _neighbour(row: PlainRow) -> Neighbour:
    return Neighbour(row.rank, PlayerName(row.submission.title, row.team, row.submission.pk), row.cells[0])


def _costliest(benchmarks: Sequence[Benchmark], row: PlainRow) -> Costliest | None:
    """Return the attack under which the model is furthest behind a better one, None where it is behind under none."""
    first = benchmarks[0]
    rows = Benchmark.objects.filter(
        submission=row.submission,
        rules=first.rules_id,
        sample_set=first.sample_set_id,
        goal=first.goal,
        norm=first.norm,
    )
    theirs = {each.attack: each.accuracy for each in rows if each.accuracy is not None}
    own = {each.attack: each.accuracy for each in benchmarks if each.accuracy is not None}
    losses = {attack: theirs[attack] - accuracy for attack, accuracy in own.items() if attack in theirs}
    attack = max(losses, key=lambda name: losses[name], default=None)
    if attack is None or losses[attack] <= 0:
        return None
    return Costliest(
        attack_title(attack), _ACCURACY.shown(100.0 * own[attack]), _ACCURACY.shown(100.0 * theirs[attack])
    )


def _changes(score: ModelScore) -> list[str]:
    """Return the accuracy of the model on the leaderboard before, under other rules or on other samples."""
    rows = ModelScore.objects.filter(
        submission=score.submission_id, knowledge=score.knowledge, goal=score.goal, norm=score.norm, pk__lt=score.pk,
        sample_set__purpose=SampleSet.Purpose.VALIDATION, sample_set__drawn_from=None,
    )  # fmt: skip
    before = rows.order_by("-pk").first()
    if before is None:
        return []
    then, now = (_ACCURACY.shown(100.0 * each.accuracy) for each in (before, score))
    return [change_of_score(other_basis(before, score), then, now, what="accuracy at the budget")]
