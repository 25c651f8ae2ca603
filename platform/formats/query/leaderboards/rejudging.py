"""Rejudging: submissions evaluated again as a set, then compared, and published or discarded as a whole.

A rejudging changes no leaderboard, team page or quota before it is published. It measures on the basis of what it
replaces. From its publication on, its matches count instead of the replaced ones, for every score that uses them:
also scores of other submissions, and on a basis that came into force meanwhile (`superseded_evaluations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F, QuerySet

from competitions.models import Competition, RulesVersion, SampleSet, Track
from competitions.permissions import require
from core import clock, event_log
from core.errors import Fault, Refusal
from core.roles import Right
from core.worker_notifications import notify
from formats.query.leaderboards.evaluation_basis import COUNTED, NEWEST, OWN_OPPONENTS
from formats.query.leaderboards.models import Evaluation, Rejudging
from formats.query.leaderboards.scoring import recompute
from formats.query.leaderboards.snapshots_and_freezes import time_of_a_result
from formats.query.leaderboards.superseded_evaluations import supersede_in
from formats.query.matches.match_requests import request_matches
from formats.query.matches.models import Match
from formats.query.matches.services import cancel, replay_failed
from formats.query.tracks import MODEL
from submissions.models import Player, Submission

if TYPE_CHECKING:
    from accounts.models import User

OPEN = (Rejudging.State.PLAYING, Rejudging.State.COMPARED)
"""States in which a rejudging is neither published nor discarded."""

Pair = tuple[Player, Player]


def begin_rejudging(*, competition: Competition, submissions: Sequence[Submission], reason: str, by: User) -> Rejudging:
    """Replay every match of the counting evaluations of `submissions` as one set. Leaderboards do not change.

    Raise `Refusal` where `by` does not organise the competition, or a submission cannot be measured again.
    """
    with transaction.atomic():
        require(by, competition, Right.RUN)
        keys = sorted({submission.pk for submission in submissions})
        current = list(
            Submission.objects.select_for_update(of=("self",), no_key=True)
            .select_related("repository__entry", "repository__track", "player")
            .filter(pk__in=keys)
            .order_by("pk")
        )
        if not current:
            raise Refusal("no submission is chosen", fix="choose the submissions to rejudge")
        replaced = [_replaced(competition, submission) for submission in current]
        rejudging = Rejudging.objects.create(competition=competition, reason=reason, made_at=clock.now())
        made = Evaluation.objects.bulk_create(_again(rejudging, old) for old in replaced)
        _request_matches(rejudging, made)
        event_log.record("rejudge", rejudging, by=by, reason=reason, submissions=[row.pk for row in current])
        notify("leaderboards.score")
    return rejudging


def replay_rejudging(*, rejudging: Rejudging, by: User, reason: str) -> None:
    """Replay the failed matches of the set. Raise `Refusal` where none failed."""
    with transaction.atomic():
        current = _locked(rejudging, by, OPEN)
        void = list(_failed_evaluations(current))
        if not void:
            raise Refusal("no match of it failed", fix="wait until it is compared, publish it, or discard it")
        for match in Match.objects.filter(evaluations__in=void, state=Match.State.FAILED).distinct():
            replay_failed(match, by, reason)
        Evaluation.objects.filter(pk__in=[row.pk for row in void]).update(
            state=Evaluation.State.PLAYING, finished_at=None, cause="", reason="", problem=""
        )
        Rejudging.objects.filter(pk=current.pk).update(state=Rejudging.State.PLAYING)
        event_log.record("replay", current, by=by, reason=reason, evaluations=[row.pk for row in void])
        notify("leaderboards.score")
    rejudging.refresh_from_db()


def settle_rejudgings() -> int:
    """Mark rejudgings whose evaluations have all ended as compared; return how many."""
    unfinished = Evaluation.objects.filter(rejudging__isnull=False, state=Evaluation.State.PLAYING)
    finished = Rejudging.objects.filter(state=Rejudging.State.PLAYING).exclude(pk__in=unfinished.values("rejudging"))
    return sum(_settle(rejudging) for rejudging in finished)


def _settle(rejudging: Rejudging) -> bool:
    with transaction.atomic():
        # checked again under the lock: meanwhile it may be replayed or discarded
        current = Rejudging.objects.select_for_update(no_key=True).get(pk=rejudging.pk)
        if (
            current.state != Rejudging.State.PLAYING
            or current.evaluations.filter(state=Evaluation.State.PLAYING).exists()
        ):
            return False
        Rejudging.objects.filter(pk=current.pk).update(state=Rejudging.State.COMPARED)
        event_log.record("compare", current)
    return True


def publish_rejudging(*, rejudging: Rejudging, by: User, reason: str) -> None:
    """Make the whole set count, and update the leaderboards. Replaced evaluations are kept.

    An evaluation that is void by its team's fault counts as such. Raise `Refusal` where `by` does not organise the
    competition, before all of the set has ended, and where a platform error ended a part of it.
    """
    with transaction.atomic():
        current = _locked(rejudging, by, (Rejudging.State.COMPARED,))
        if failed := _failed_evaluations(current).first():
            raise Refusal(
                f"a platform error ended the evaluation of submission {failed.submission_id}: {failed.problem}",
                fix="replay the failed matches (action Replay), or discard the set",
            )
        # 1. from here on, no evaluation chooses matches that the set replaces
        Competition.objects.select_for_update(no_key=True).get(pk=current.competition_id)
        current.evaluations.update(counts=True)
        Rejudging.objects.filter(pk=current.pk).update(state=Rejudging.State.PUBLISHED)
        # 2. update evaluations that use them, started or scored meanwhile or on another leaderboard
        concerned = supersede_in(current.competition)
        # 3. the leaderboards, read under their locks: one that was frozen meanwhile hides the new scores
        touched = Track.objects.filter(repositories__submissions__evaluations__rejudging=current).order_by()
        locked = Track.objects.select_for_update(no_key=True).filter(pk__in=touched.values("pk"))
        tracks = list(locked.order_by("pk"))
        Rejudging.objects.filter(pk=current.pk).update(settled_at=time_of_a_result(current.competition_id))
        changed = {track.name: recompute(track) for track in tracks}
        for evaluation in current.evaluations.filter(state=Evaluation.State.SCORED).exclude(value=F("replaces__value")):
            event_log.record("score", evaluation.submission, evaluation=evaluation.pk)
        scored_again = sorted({row.submission_id for row in concerned})
        event_log.record("publish", current, by=by, reason=reason, changed_places=changed, scored_again=scored_again)
    rejudging.refresh_from_db()


def discard_rejudging(*, rejudging: Rejudging, by: User, reason: str) -> None:
    """Discard the whole set: no leaderboard changes, results are kept, and open matches are cancelled."""
    with transaction.atomic():
        current = _locked(rejudging, by, OPEN)
        Rejudging.objects.filter(pk=current.pk).update(state=Rejudging.State.DISCARDED, settled_at=clock.database_now())
        open_matches = [Match.State.WAITING, Match.State.PLAYING, Match.State.AUDIT, Match.State.SUSPENDED]
        cancel(
            Match.objects.filter(
                repetition=current.pk, rules__competition=current.competition_id, state__in=open_matches
            )
        )
        current.evaluations.filter(state=Evaluation.State.PLAYING).update(
            state=Evaluation.State.VOID,
            finished_at=clock.database_now(),
            reason="discarded",
            problem="The rejudging was discarded before it was played.",
        )
        event_log.record("discard", current, by=by, reason=reason)
    rejudging.refresh_from_db()


def _locked(rejudging: Rejudging, by: User, states: Sequence[str]) -> Rejudging:
    require(by, rejudging.competition, Right.RUN)
    current = Rejudging.objects.select_for_update(no_key=True).get(pk=rejudging.pk)
    if current.state not in states:
        fix = "wait until it is compared, or discard it" if current.state in OPEN else "start a new rejudging"
        raise Refusal(f"{current} is {current.get_state_display()}", fix=fix)
    return current


def _replaced(competition: Competition, submission: Submission) -> Evaluation:
    """Return the evaluation of `submission` that counts."""
    if submission.repository.entry.competition_id != competition.pk:
        raise Refusal(f"{submission} belongs to another competition", fix=f"choose submissions to {competition}")
    if submission.state != Submission.State.READY or submission.disqualified_at is not None:
        raise Refusal(f"{submission} is not ready, or disqualified", fix="choose ready submissions")
    if submission.evaluations.filter(rejudging__state__in=OPEN).exists():
        raise Refusal(f"{submission} is being rejudged", fix="publish or discard that rejudging first")
    counted = submission.evaluations.filter(COUNTED).order_by(*NEWEST)
    newest = counted.select_related("rules", "sample_set", "pool").first()
    if newest is None:
        raise Refusal(f"{submission} has no evaluation", fix="choose evaluated submissions")
    if newest.state == Evaluation.State.PLAYING:
        raise Refusal(f"{submission} is being evaluated", fix="wait until the evaluation ends")
    newest.submission = submission
    return newest


def _again(rejudging: Rejudging, replaced: Evaluation) -> Evaluation:
    return Evaluation(
        submission=replaced.submission,
        pool=replaced.pool,
        rules=replaced.rules,
        sample_set=replaced.sample_set,
        rejudging=rejudging,
        replaces=replaced,
        counts=False,
        created_at=clock.database_now(),
    )


def _request_matches(rejudging: Rejudging, evaluations: Sequence[Evaluation]) -> None:
    """Request the matches; pairs with the same rules and samples in one call."""
    pairs: dict[tuple[RulesVersion, SampleSet], dict[Pair, list[Evaluation]]] = {}
    for evaluation in evaluations:
        met = pairs.setdefault((evaluation.rules, evaluation.sample_set), {})
        for pair in _pairs(evaluation):
            met.setdefault(pair, []).append(evaluation)
    through = Evaluation.matches.through
    for (rules, sample_set), met in pairs.items():
        matches = request_matches(
            rules=rules, sample_set=sample_set, pairs=list(met), upto=sample_set.count, ends=(), repetition=rejudging.pk
        )
        of_pair = {(match.model_id, match.attack_id): match for match in matches}
        through.objects.bulk_create(
            through(evaluation=evaluation, match=of_pair[model.pk, attack.pk])
            for (model, attack), shared in met.items()
            for evaluation in shared
        )


def _pairs(evaluation: Evaluation) -> list[Pair]:
    """Return the submission paired with each opponent, the model first."""
    submission = evaluation.submission
    player = submission.player
    if player is None:
        raise Fault(f"{submission} is ready and has no player")
    opponents = [place.player for place in evaluation.pool.places.select_related("player")]
    if submission.repository.track.name == MODEL:
        return [(player, opponent) for opponent in opponents]
    return [(opponent, player) for opponent in opponents]


def _failed_evaluations(rejudging: Rejudging) -> QuerySet[Evaluation]:
    """Return those that a platform error ended; an attack that meets only its own team has no score either way."""
    void = rejudging.evaluations.filter(state=Evaluation.State.VOID, cause=Submission.Cause.PLATFORM)
    return void.exclude(reason=OWN_OPPONENTS)
