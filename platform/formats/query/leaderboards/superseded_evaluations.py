"""New scores for evaluations that used matches which a published rejudging replaced.

One pair so never has two results on two leaderboards. No match is played: only scores are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from competitions.models import Competition, Track
from core import clock, event_log
from core.worker_notifications import notify
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.replaced_matches import evaluations_using, replaced_matches
from formats.query.leaderboards.withdrawn_evaluations import cancel_unneeded
from formats.query.matches.models import Match
from submissions.models import Submission


def supersede_replaced() -> int:
    """Run `supersede_in` for every competition, in case a step was missed; return how many evaluations changed."""
    found = 0
    for competition in Competition.objects.filter(rejudgings__isnull=False).distinct():
        # usually nothing is to do, and no lock is needed
        if evaluations_using(replaced_matches(competition)).exists():
            found += len(supersede_in(competition))
    return found


def supersede_in(competition: Competition) -> list[Evaluation]:
    """Make every evaluation in force use the published match instead of a replaced one; return those concerned.

    A playing evaluation gets the match in exchange. An ended one is kept, and a new one starts on its basis.
    """
    with transaction.atomic():
        # 1. starting an evaluation takes the lock of the competition, ending one that of its submission
        Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        replaced = replaced_matches(competition)
        concerned = evaluations_using(replaced)
        submissions = Submission.objects.filter(pk__in=[row.submission_id for row in concerned]).order_by("pk")
        keys = list(submissions.select_for_update(no_key=True).values_list("pk", flat=True))
        if keys:  # before the matches, as a withdrawal does; a publication ranks these tracks again afterwards
            tracks = Track.objects.select_for_update(no_key=True).filter(competition=competition).order_by("pk")
            list(tracks.values_list("pk"))
        # 2. read again under the locks: some ended meanwhile
        found = list(concerned.filter(submission__in=keys).select_related("submission"))
        for evaluation in found:
            if evaluation.state == Evaluation.State.PLAYING:
                _exchange(evaluation, replaced)
            else:
                _begin_superseding(evaluation, replaced)
        if found:
            notify("leaderboards.score")
    return found


def _exchange(evaluation: Evaluation, replaced: Mapping[int, Match]) -> None:
    links = Evaluation.matches.through.objects.filter(evaluation=evaluation, match__in=list(replaced))
    exchanged = {link.match_id: replaced[link.match_id].pk for link in links}
    for link in links:
        link.match = replaced[link.match_id]
        link.save()
    cancel_unneeded(Match.objects.filter(pk__in=exchanged))
    event_log.record("exchange", evaluation, matches=exchanged)


def _begin_superseding(ended: Evaluation, replaced: Mapping[int, Match]) -> None:
    evaluation = Evaluation.objects.create(
        submission=ended.submission,
        pool=ended.pool,
        rules=ended.rules,
        sample_set=ended.sample_set,
        replaces=ended,
        created_at=clock.database_now(),
    )
    evaluation.matches.set([replaced.get(match.pk, match) for match in ended.matches.all()])
    event_log.record("supersede", evaluation, replaces=ended.pk)
