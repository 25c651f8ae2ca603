"""Queries of the pages across the apps below them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Min, Q

from accounts.models import User
from accounts.selectors import teams_of
from competitions.models import Competition, Entry
from leaderboards.evaluation_basis import opposing_pool
from leaderboards.models import Evaluation, Pool
from leaderboards.visibility import evaluation_of, frozen_since, public_evaluation_of
from matches.models import Piece
from matches.selectors import OPEN_PIECES, Progress, QueuePlace, progress, queue_of, worker_is_missing
from submissions.build_order import BuildPlace, place_of
from submissions.models import Submission


def own_entry(user: User | AnonymousUser, competition: Competition) -> Entry | None:
    """Return the entry of the user's team in the competition. There is at most one."""
    return Entry.objects.filter(competition=competition, team__in=teams_of(user)).select_related("team").first()


def pools(competition: Competition) -> list[Pool]:
    """Return the pool in force of each track that has one, with its players."""
    newest: dict[int, Pool] = {}
    made = Pool.objects.filter(track__competition=competition).select_related("track").order_by("track", "number")
    for pool in made.prefetch_related("places__player"):
        newest[pool.track_id] = pool
    return list(newest.values())


@dataclass(frozen=True)
class SubmissionStatus:
    """State of a submission: its newest evaluation and, while that runs, its progress and place in the queue.

    `hidden_since`: the leaderboards are frozen since then, and a newer evaluation is hidden.
    `build` is the place in the build queue. `worker_missing`: no live worker can play its pieces.
    """

    evaluation: Evaluation | None
    progress: Progress | None
    queue: QueuePlace | None
    build: BuildPlace | None
    pool_missing: bool
    worker_missing: bool
    hidden_since: datetime | None

    @property
    def scored(self) -> bool:
        """Whether the evaluation has a score."""
        return self.evaluation is not None and self.evaluation.state == Evaluation.State.SCORED


def status_of(submission: Submission, *, inside: bool) -> SubmissionStatus:
    """Return the state of a submission, for its team and the organisers (`inside`) or for the public."""
    newest = evaluation_of(submission)
    evaluation = newest if inside else public_evaluation_of(submission)
    hidden = newest != evaluation
    played = queue_place = build = None
    no_worker = False
    ready = submission.state == Submission.State.READY
    if ready and evaluation is not None and evaluation.state == Evaluation.State.PLAYING:
        matches = list(evaluation.matches.all())
        played, queue_place, no_worker = progress(matches), queue_of(matches), worker_is_missing(matches)
    if submission.state == Submission.State.RECEIVED:
        build = place_of(submission)
    track = submission.repository.track
    query = submission.repository.entry.competition.format == Competition.Format.QUERY
    missing = query and ready and newest is None and opposing_pool(track) is None
    since = frozen_since(submission.repository.entry.competition) if hidden else None
    return SubmissionStatus(evaluation, played, queue_place, build, missing, no_worker, since)


@dataclass(frozen=True)
class Queue:
    """Size and age of the queue."""

    pieces: int
    claimed: int
    oldest_piece_since: datetime | None
    submissions: int
    oldest_submission_since: datetime | None


def queue() -> Queue:
    """Return the pieces that are not played and the submissions that are not built."""
    pieces = Piece.objects.filter(OPEN_PIECES).aggregate(
        all=Count("pk"),
        claimed=Count("pk", filter=Q(state=Piece.State.CLAIMED)),
        since=Min("match__created_at", filter=Q(state=Piece.State.WAITING)),
    )
    waiting = Submission.objects.filter(state__in=Submission.UNDER_WAY).aggregate(
        all=Count("pk"), since=Min("received_at")
    )
    return Queue(
        pieces["all"] - pieces["claimed"], pieces["claimed"], pieces["since"], waiting["all"], waiting["since"]
    )
