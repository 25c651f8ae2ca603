"""Verification of scores and standings against the rows that they follow from.

The site may run meanwhile. A leaderboard follows a new pool or a disqualification within a minute, and differs until
then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from django.db import transaction

from competitions.models import Competition, Track
from core import platform_error_report
from core.data_difference import Difference, Verified
from core.errors import Fault
from formats.query.leaderboards.evaluation_basis import COUNTED, unresolved
from formats.query.leaderboards.models import Evaluation, Resamples, Standing
from formats.query.leaderboards.replaced_matches import evaluations_using, replaced_matches
from formats.query.leaderboards.scoring import difference_of, keep_resamples, recompute, score_finished, scores_of
from formats.query.leaderboards.superseded_evaluations import supersede_in

log = logging.getLogger(__name__)


def verify_boards(competition: Competition | None = None, *, repair: bool = False) -> Verified:
    """Compare every score with its rows, every row of a leaderboard with the scores, and all scores with each other.

    Of one competition or of all. With `repair`, computed values are written.
    """
    competitions = Competition.objects.all() if competition is None else [competition]
    differences: list[Difference] = []
    scores = standings = 0
    for each in competitions:
        for track in each.tracks.order_by("pk"):
            scored = Evaluation.objects.filter(
                COUNTED, submission__repository__track=track, state=Evaluation.State.SCORED
            )
            rows = scored.select_related("submission__repository__track", "pool", "sample_set").order_by("pk")
            for evaluation in rows:
                scores += 1
                differences += _of_score(evaluation, repair=repair)
        differences += _of_pairs(each, repair=repair)
        for track in each.tracks.order_by("pk"):
            differences += _of_board(track, repair=repair)
            standings += Standing.objects.filter(track=track).count()
    differences += _waiting(competition)
    return Verified(scores, standings, tuple(differences))


def _of_score(evaluation: Evaluation, *, repair: bool) -> Iterator[Difference]:
    try:
        scores = scores_of(evaluation)
    except Fault as fault:
        platform_error_report.report(log, fault, "the score of %s cannot be computed", evaluation)
        yield Difference(str(evaluation), f"its score cannot be computed: {fault}")
        return
    changed = [
        f"{name} is {getattr(evaluation, name)!r} and should be {value!r}"
        for name, value in scores.columns.items()
        if getattr(evaluation, name) != value
    ]
    kept = Resamples.objects.filter(evaluation=evaluation).values_list("medians", flat=True).first()
    if kept is None or bytes(kept) != scores.resampled:
        changed.append("its resamples are missing or different")
    if not changed:
        return
    if repair:
        with transaction.atomic():
            Evaluation.objects.filter(pk=evaluation.pk).update(**scores.columns)
            keep_resamples(evaluation, scores.resampled)
    yield Difference(f"{evaluation} of {evaluation.submission}", "; ".join(changed), repaired=repair)


def _of_pairs(competition: Competition, *, repair: bool) -> Iterator[Difference]:
    """Yield pairs with two results: a score that uses a match which a published rejudging replaced."""
    replaced = replaced_matches(competition)
    found = list(evaluations_using(replaced).select_related("submission"))
    if repair and found:
        supersede_in(competition)
        score_finished()
    for evaluation in found:
        pairs = {match.pk: replaced[match.pk].pk for match in evaluation.matches.all() if match.pk in replaced}
        matches = ", ".join(f"match {old} instead of {new}" for old, new in sorted(pairs.items()))
        subject = f"{evaluation} of {evaluation.submission}"
        yield Difference(subject, f"it uses matches that a rejudging replaced: {matches}", repaired=repair)


def _of_board(track: Track, *, repair: bool) -> Iterator[Difference]:
    with transaction.atomic():
        # no other process writes scores or standings of the track meanwhile
        Track.objects.select_for_update(no_key=True).get(pk=track.pk)
        changed, gone = difference_of(track, again=True)
        stored = {row.entry_id: row for row in Standing.objects.filter(track=track).select_related("entry")}
        if repair and (changed or gone):
            recompute(track, again=True)
    for place in changed:
        row = stored.get(place.entry)
        if row is None:
            yield Difference(f"board of {track}", f"the row of entry {place.entry} is missing", repaired=repair)
            continue
        columns = {"evaluation": row.evaluation_id, **{name: getattr(row, name) for name in place._fields[2:]}}
        changes = "; ".join(
            f"{name} is {value} and should be {getattr(place, name)}"
            for name, value in columns.items()
            if value != getattr(place, name)
        )
        yield Difference(f"{row} on the board of {track}", changes, repaired=repair)
    for entry in gone:
        yield Difference(f"{stored[entry]} on the board of {track}", "it should not be there", repaired=repair)


def _waiting(competition: Competition | None) -> Iterator[Difference]:
    rows = unresolved().select_related("submission")
    for evaluation in rows if competition is None else rows.filter(sample_set__competition=competition):
        yield Difference(
            str(evaluation.submission),
            f"it is not measured on the current basis, as {evaluation} ended by a platform error: re-evaluate it "
            f"({evaluation.problem})",
        )
