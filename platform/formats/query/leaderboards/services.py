"""Pools of opponents, and the start of evaluations.

Scores of finished matches are in `scoring`, frozen leaderboards in `snapshots_and_freezes`, rejudgings
in `rejudging`, and withdrawals in `withdrawn_evaluations`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q

from competitions.models import Competition, Track
from competitions.permissions import require
from competitions.selectors import rules_in_force
from core import clock, event_log, platform_error_report
from core.errors import Fault, GauntletError, Refusal, RefusedInState
from core.roles import Right
from core.table_versions import versions
from core.worker_notifications import notify
from evaluation.formats.query.rules import QueryRules
from formats.query import NAME
from formats.query.leaderboards.evaluation_basis import (
    BASIS,
    COUNTED,
    EvaluationBasis,
    basis_in_force,
    evaluated_tracks,
    unresolved,
)
from formats.query.leaderboards.models import Evaluation, Pool, PoolPlace
from formats.query.leaderboards.pool_of_first_submissions import first_players
from formats.query.leaderboards.rejudging import OPEN
from formats.query.leaderboards.replaced_matches import published_matches
from formats.query.matches.match_requests import request_matches
from formats.query.matches.models import Match
from formats.query.matches.player_builds import baseline_player
from formats.query.matches.selectors import failed_matches_of, lost_baselines
from formats.query.matches.services import replay_failed
from formats.query.tracks import MODEL
from submissions.models import Player, Submission
from submissions.player_builds import keep_image

if TYPE_CHECKING:
    from accounts.models import User
    from competitions.models import Entry

LOW_PRIORITY = timedelta(hours=1)
"""How long the matches of a team of low priority yield to matches requested meanwhile."""

RETRY_AFTER = timedelta(hours=1)
"""How long after a platform error an evaluation is retried."""

log = logging.getLogger(__name__)


@dataclass
class _ProcessState:
    """State of this process between sweeps: the versions of the tables from which first pools were filled."""

    filled_at: Mapping[str, int] | None = None


_process = _ProcessState()


def set_pool(
    *,
    track: Track,
    players: Sequence[Player],
    reason: str,
    by: User | None = None,
    of_first_submissions: bool = False,
) -> Pool:
    """Make `players`, in this order, the pool in force of the track.

    With `of_first_submissions`, further players join it (see `fill_first_pool`). Raise `Refusal` for no players, more
    than the rules allow, duplicates, and players of another track or competition.
    """
    _check_players(track, players)
    with transaction.atomic():
        Track.objects.select_for_update(no_key=True).get(pk=track.pk)
        number = (track.pools.aggregate(newest=Max("number"))["newest"] or 0) + 1
        pool = Pool.objects.create(
            track=track,
            number=number,
            made_at=clock.now(),
            reason=reason,
            of_first_submissions=of_first_submissions,
        )
        PoolPlace.objects.bulk_create(
            PoolPlace(pool=pool, place=place, player=player) for place, player in enumerate(players, start=1)
        )
        titles = [player.title for player in players]
        event_log.record("make", pool, by=by, reason=reason, track=track.name, number=number, players=titles)
        notify("leaderboards.sweep")
    return pool


def _check_players(track: Track, players: Sequence[Player]) -> None:
    maximum = _opponents(track)
    if not 1 <= len(players) <= maximum:
        raise Refusal(
            f"a pool cannot have {len(players)} players", fix=f"choose 1 to {maximum} players, as the rules say"
        )
    if len({player.pk for player in players}) < len(players):
        raise Refusal("a player is listed twice", fix="list each player once")
    for player in players:
        if (player.competition_id, player.track_name) != (track.competition_id, track.name):
            raise Refusal(f"{player} does not belong to the track {track}", fix="choose players of this track")


def _opponents(track: Track) -> int:
    version = rules_in_force(track.competition)
    return version.rules_as(QueryRules).opponents


def make_first_pools() -> list[Pool]:
    """Make the first pool of every track with baselines, in competitions that are public or have started.

    Archived ones are left out.

    Builds missing baselines, so it runs on a worker. A failed build affects only its own track, and the next sweep
    tries again.
    """
    started = Q(competition__public=True) | Q(competition__starts_at__lte=clock.now())
    made = []
    for track in evaluated_tracks().filter(started, pools__isnull=True).select_related("competition"):
        if not track.baselines:
            continue
        try:
            opponents = _opponents(track)
            players = [baseline_player(track, name, log.info) for name in track.baselines[:opponents]]
            pool = _first_pool(track, players, grows=len(players) < opponents)
        except GauntletError as error:
            platform_error_report.report(log, error, "no first pool for %s", track)
            continue
        if pool is not None:
            made.append(pool)
    return made


def _first_pool(track: Track, players: Sequence[Player], *, grows: bool) -> Pool | None:
    with transaction.atomic():
        Track.objects.select_for_update(no_key=True).get(pk=track.pk)
        if track.pools.exists():  # another worker was first
            return None
        return set_pool(track=track, players=players, reason="the bundled baselines", of_first_submissions=grows)


def rebuild_lost_baselines() -> list[Player]:
    """Build the baselines again whose image the store does not have; return those that have an image now.

    What was given up meanwhile is played again. One whose content not its recipe alone decides becomes another player:
    it is built once, and a new pool is the organisers' decision.
    """
    rebuilt = []
    for lost in lost_baselines():
        same = Player.objects.filter(competition=lost.competition_id, track_name=lost.track_name)
        if same.filter(baseline=lost.baseline, pk__gt=lost.pk).exists():
            continue
        try:
            player = baseline_player(lost.competition.tracks.get(name=lost.track_name), lost.baseline, log.info)
            keep_image(player)
        except GauntletError as error:
            platform_error_report.report(log, error, "%s cannot be built again", lost)
            continue
        if player == lost:
            for match in failed_matches_of(player):
                replay_failed(match, None, reason="the image of a baseline was built again")
            rebuilt.append(player)
    return rebuilt


def fill_first_pools() -> list[Pool]:
    """Run `fill_first_pool` for every track: a model was scored, a notification was lost, or a player left.

    What it asks for each track is half of what a site without work takes of the processor. So a process that has asked
    asks again only after a change of the database.
    """
    now = versions()
    if now == _process.filled_at:
        return []
    filled = [fill_first_pool(track) for track in evaluated_tracks().select_related("competition")]
    _process.filled_at = now
    return [pool for pool in filled if pool is not None]


def fill_first_pool(track: Track) -> Pool | None:
    """Fill the first pool of a track with the first submissions, one per team; None if unchanged.

    It starts with the baselines, or with one submission, so that no evaluation waits for more. The first submission of
    each further team joins until the pool has the size that the rules allow. It then stays until a round makes another
    pool; only players that no longer count are replaced. Each change is a new pool, and earlier evaluations are
    repeated against it.
    """
    if first_players(track, _opponents(track)) is None:
        return None
    with transaction.atomic():
        Track.objects.select_for_update(no_key=True).get(pk=track.pk)
        players = first_players(track, _opponents(track))
        if players is None:  # another worker was first
            return None
        reason = "the bundled baselines and the first submissions" if track.baselines else "the first ready submissions"
        return set_pool(track=track, players=players, reason=reason, of_first_submissions=True)


def evaluate(submission: Submission) -> Evaluation | None:
    """Start to measure a ready submission under the current pool, rules and validation samples.

    Return None where nothing is started: no pool yet, already started, not ready, disqualified, or the
    competition is archived. Safe to repeat.
    """
    with transaction.atomic():
        submission = _locked(submission)
        basis = basis_in_force(submission.repository.track)
        if not _counts(submission) or basis is None or submission.repository.track.competition.archived_at:
            return None
        if submission.evaluations.filter(COUNTED, **basis._asdict()).exists():
            return None
        return _begin(submission, basis)


def re_evaluate(*, submission: Submission, by: User, reason: str) -> Evaluation:
    """Measure a submission again for an organiser: failed matches are replayed, all others are reused.

    Earlier evaluations are kept. Raise `Refusal` where `by` is no organiser, or nothing can be measured.
    """
    with transaction.atomic():
        submission = _locked(submission)
        track = submission.repository.track
        require(by, track.competition, Right.RUN)
        if track.competition.format != NAME:
            raise Refusal(
                f"{submission} is in a competition of the {track.competition.format} format, which has no evaluations",
                fix="replay what failed in the lists of that format",
            )
        if not _counts(submission):
            problem = f"{submission} is not ready, or disqualified"
            raise RefusedInState(problem, state=submission.state, fix="choose a ready submission")
        if submission.evaluations.filter(COUNTED, state=Evaluation.State.PLAYING).exists():
            problem, fix = f"{submission} is being evaluated", "wait until the evaluation ends"
            raise RefusedInState(problem, state=Evaluation.State.PLAYING, fix=fix)
        if submission.evaluations.filter(rejudging__state__in=OPEN).exists():
            raise Refusal(f"{submission} is being rejudged", fix="publish or discard that rejudging first")
        basis = basis_in_force(track)
        if basis is None:
            raise Refusal(f"{track} has no opponents yet", fix="wait until its first pool is made")
        return _begin_again(submission, basis, by=by, reason=reason)


def retry_evaluation() -> int:
    """Retry each evaluation that ended by a platform error an hour ago, once per basis; return how many.

    A second failure waits for an organiser (`formats.query.leaderboards.score_verification` reports it).
    """
    alike = Evaluation.objects.filter(
        COUNTED, pk__lt=OuterRef("pk"), **{name: OuterRef(name) for name in ("submission", *BASIS)}
    )
    due = unresolved().filter(~Exists(alike), finished_at__lte=clock.database_now() - RETRY_AFTER)
    return sum(_try_again(evaluation) for evaluation in due)


def _try_again(evaluation: Evaluation) -> bool:
    with transaction.atomic():
        submission = _locked(evaluation.submission)
        basis = basis_in_force(submission.repository.track)
        # checked again under the lock: an organiser, another worker or another basis may have been first
        if basis is None or not unresolved().filter(pk=evaluation.pk).exists():
            return False
        _begin_again(submission, basis, by=None, reason="a platform error")
    return True


def _begin_again(submission: Submission, basis: EvaluationBasis, *, by: User | None, reason: str) -> Evaluation:
    evaluation = _begin(submission, basis)
    for match in evaluation.matches.filter(state=Match.State.FAILED):
        replay_failed(match, by)
    event_log.record("re-evaluate", submission, by=by, reason=reason, evaluation=evaluation.pk)
    return evaluation


def _locked(submission: Submission) -> Submission:
    # the competition first: while a rejudging is published, no evaluation chooses matches that it replaces
    Competition.objects.select_for_update(no_key=True).get(pk=submission.repository.entry.competition_id)
    return (
        Submission.objects.select_for_update(of=("self",), no_key=True)
        .select_related("repository__track__competition", "player")
        .get(pk=submission.pk)
    )


def _counts(submission: Submission) -> bool:
    return submission.state == Submission.State.READY and submission.disqualified_at is None


def _begin(submission: Submission, basis: EvaluationBasis) -> Evaluation:
    player, track = submission.player, submission.repository.track
    if player is None:
        raise Fault(f"{submission} is ready and has no player")
    evaluation = Evaluation.objects.create(submission=submission, created_at=clock.database_now(), **basis._asdict())
    is_model = track.name == MODEL
    opponents = [place.player for place in basis.pool.places.select_related("player")]
    pairs = [(player, opponent) if is_model else (opponent, player) for opponent in opponents]
    evaluation.matches.set(_matches(basis, pairs, submission.repository.entry))
    # if all matches were played before, no worker sends a notification
    notify("leaderboards.score")
    return evaluation


def _matches(basis: EvaluationBasis, pairs: Sequence[tuple[Player, Player]], entry: Entry) -> list[Match]:
    """Return the match of each pair to score by, after rejudgings the newest published; new ones wait for `entry`."""
    rejudged: dict[tuple[int, int], Match] = {}
    for match in published_matches().filter(
        rules=basis.rules,
        sample_set=basis.sample_set,
        model__in=[model for model, _ in pairs],  # all are one player on this side or on the other
        attack__in=[attack for _, attack in pairs],
    ):
        rejudged.setdefault((match.model_id, match.attack_id), match)
    requested = request_matches(
        rules=basis.rules,
        sample_set=basis.sample_set,
        pairs=[(model, attack) for model, attack in pairs if (model.pk, attack.pk) not in rejudged],
        upto=basis.sample_set.count,
        delay=LOW_PRIORITY if entry.low_priority else timedelta(0),
        entry=entry,
    )
    return [*rejudged.values(), *requested]
