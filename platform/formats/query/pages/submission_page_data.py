"""What the page of a submission shows in the query format: evaluation, opponents, and place in the queue."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest

from competitions.board_freezes import frozen_since, sees_live
from evaluation.charts.interval_bar_axis import axis_to
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.leaderboards.evaluation_basis import opposing_pool
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.score_visibility import evaluation_of, public_evaluation_of, row_of
from formats.query.matches.selectors import (
    PieceProgress,
    QueuePlace,
    player_failures,
    progress,
    queue_of,
    worker_is_missing,
)
from formats.query.pages.challenge_display import challenges_of
from formats.query.pages.match_links import by_opponent
from formats.query.pages.rank_explanation import ComparedRank, explanation_of
from formats.query.pages.rules_table import scale
from formats.query.pages.submission_choice_display import choice_on
from formats.query.tracks import MODEL
from pages import polling
from pages.formats import Content, SubmissionContent
from pages.player_names import PlayerName, names_of
from pages.submission.progress_steps import steps_of
from submissions.models import Build, Submission


@dataclass(frozen=True)
class EvaluationOpponent:
    """An opponent of an evaluation: its row there, its name, and the match against it with the sides that failed."""

    row: dict[str, Any]
    name: PlayerName
    match: int | None
    failed: Collection[str]


@dataclass(frozen=True)
class SubmissionStatus:
    """Newest evaluation of a submission and, while that runs, its progress and place in the queue.

    `hidden_since`: the leaderboards are frozen since then, and a newer evaluation is hidden.
    `worker_missing`: no live worker can play its pieces.
    """

    evaluation: Evaluation | None
    progress: PieceProgress | None
    queue: QueuePlace | None
    pool_missing: bool
    worker_missing: bool
    hidden_since: datetime | None

    @property
    def scored(self) -> bool:
        """Whether the evaluation has a score."""
        return self.evaluation is not None and self.evaluation.state == Evaluation.State.SCORED


def submission_content(
    request: HttpRequest, shown: Submission, builds: Sequence[Build], *, inside: bool
) -> SubmissionContent:
    """Return evaluation, opponents and rank of a submission, for its team and the organisers or for the public."""
    status = status_of(shown, inside=inside)
    evaluation = status.evaluation
    board_row = _board_row(request, shown) if status.scored else None
    opponents = _opponents(evaluation) if evaluation and status.scored else []
    compared = _compared(request, shown, evaluation, board_row, opponents)
    choice = choice_on(shown) if inside else None
    return SubmissionContent(
        template="formats/query/parts/submission_status.html",
        context={
            "models": shown.repository.track.name == MODEL,
            "status": status,
            "evaluation": evaluation,
            "axis": axis_to(evaluation.high or 0) if evaluation else None,
            "scale": scale(evaluation.rules) if evaluation else "",
            "opponents": opponents,
            "hardest_match": _hardest_match(evaluation, opponents),
            "board_row": board_row,
            "compared": compared if compared and compared.theirs else None,
            "choice": choice,
        },
        state=state_of(shown, evaluation),
        steps=steps_of(
            shown,
            builds,
            scored=status.scored,
            measured=evaluation is not None,
            void=evaluation is not None and evaluation.state == Evaluation.State.VOID,
        ),
        final=evaluation is not None and evaluation.state != Evaluation.State.PLAYING,
        aside=Content(template="formats/query/parts/submission_choice.html") if choice else None,
        below=challenges_of(request, shown) if inside and not polling.is_poll(request) else None,
        why=[compared.explanation] if compared else [],
    )


def state_of(submission: Submission, evaluation: Evaluation | None) -> Submission.State | Evaluation.State:
    """Return the state to show: that of the evaluation while the submission is ready, otherwise its own."""
    if evaluation is not None and submission.state == Submission.State.READY:
        return Evaluation.State(evaluation.state)
    return Submission.State(submission.state)


def status_of(submission: Submission, *, inside: bool) -> SubmissionStatus:
    """Return the evaluation of a submission, for its team and the organisers (`inside`) or for the public."""
    newest = evaluation_of(submission)
    evaluation = newest if inside else public_evaluation_of(submission)
    played = queue_place = None
    no_worker = False
    ready = submission.state == Submission.State.READY
    if ready and evaluation is not None and evaluation.state == Evaluation.State.PLAYING:
        matches = list(evaluation.matches.all())
        played, queue_place, no_worker = progress(matches), queue_of(matches), worker_is_missing(matches)
    missing = ready and newest is None and opposing_pool(submission.repository.track) is None
    since = frozen_since(submission.repository.entry.competition) if newest != evaluation else None
    return SubmissionStatus(evaluation, played, queue_place, missing, no_worker, since)


def _compared(
    request: HttpRequest,
    shown: Submission,
    evaluation: Evaluation | None,
    row: BoardRow | None,
    opponents: Sequence[EvaluationOpponent],
) -> ComparedRank | None:
    """Return why the submission has its rank, None where another one of its team counts."""
    if evaluation is None or row is None or row.submission != shown.pk:
        return None
    names = {each.row["player"]: (each.name, each.match) for each in opponents}
    return explanation_of(shown.repository.track, row, evaluation, request.user, names)


def _opponents(evaluation: Evaluation) -> list[EvaluationOpponent]:
    names = names_of(row["player"] for row in evaluation.per_opponent)
    matches = by_opponent(evaluation)
    failures = player_failures(matches.values())
    return [
        EvaluationOpponent(row, names[row["player"]], match, {side for side, _ in failures.get(match or 0, ())})
        for row, match in ((row, matches.get(row["player"])) for row in evaluation.per_opponent)
    ]


def _hardest_match(evaluation: Evaluation | None, opponents: list[EvaluationOpponent]) -> int | None:
    """Return the match against the hardest opponent, None where there is none."""
    hardest = evaluation.worst_opponent_id if evaluation else None
    return next((each.match for each in opponents if each.row["player"] == hardest), None)


def _board_row(request: HttpRequest, shown: Submission) -> BoardRow | None:
    """Return the row of the submission's team on the leaderboard that the user sees."""
    entry = shown.repository.entry
    return row_of(shown.repository.track, entry, frozen=not sees_live(request.user, entry.competition))
