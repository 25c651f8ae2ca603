"""The answers of the API in the transfer format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework import serializers

from accounts.models import User
from api.formats import (
    AnswerShapes,
    MatchAnswer,
    NewestCounts,
    Picture,
    RoundResult,
    SubmissionProgress,
    WithoutChallenges,
    WithoutEvaluations,
    only_now,
)
from competitions.board_freezes import frozen_since, sees_live, sees_scores_of
from competitions.models import Competition, Track
from core.rounding import share
from formats.transfer.api_pairs import attack_of, pair_of_entrants, pairs_of_submission
from formats.transfer.api_serializers import (
    PairNumbersSerializer,
    RunsSerializer,
    StandingSerializer,
    TransferBoardSerializer,
    TransferPlaceSerializer,
)
from formats.transfer.rounds import standings as transfer_standings
from formats.transfer.rounds.released_pictures import round_picture
from formats.transfer.rounds.round_advancement import frozen_tournament
from formats.transfer.tournaments.boards import (
    TransferBoard,
    TransferBoardRow,
    board_of,
    is_held_up,
    progress_of_submission,
    row_of_submission,
    tournament_in_force,
)
from rounds.models import Round
from rounds.publishing.pair_visibility import pairs_public
from submissions.models import Submission

_HELD_UP = "A run that it needs was given up after platform errors. It counts once an organiser replays the run."


class TransferApi(WithoutChallenges, WithoutEvaluations, NewestCounts):
    """See `api.formats.ApiFormat`. A match is a pair of an attack and a defence."""

    shapes = AnswerShapes(TransferBoardSerializer, TransferPlaceSerializer, StandingSerializer, PairNumbersSerializer)
    submission_fields: Mapping[str, serializers.Field[Any, Any, Any, Any]] = {
        "standing": StandingSerializer(),
        "runs": RunsSerializer(),
    }

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return the standing if it counts, or how many runs are played; the public sees neither in a freeze."""
        if _hidden(submission, inside=inside):
            return {"standing": None, "runs": None}
        row = _own_row(submission)
        return {"standing": StandingSerializer(row).data if row else None, "runs": _runs(submission)}

    def progress(self, submission: Submission, *, inside: bool) -> SubmissionProgress:
        """Return rank and score where the submission counts; the public sees neither in a freeze, its team no rank.

        One that waits for a run that was given up is final: only an organiser can go on with it.
        """
        if _hidden(submission, inside=inside):
            return SubmissionProgress(final=True)
        row = _own_row(submission)
        if row is None and self.counts_no_more(submission):
            return SubmissionProgress(final=True)
        if row is None:
            held_up = is_held_up(submission)
            return SubmissionProgress(final=held_up, problem=_HELD_UP if held_up else "")
        return SubmissionProgress(final=True, score=None if row.score is None else share(row.score), rank=row.rank)

    def evaluations(self, submission: Submission, *, inside: bool) -> Sequence[Mapping[str, Any]]:
        """Return the standing that counts; the public sees none in a freeze."""
        row = None if _hidden(submission, inside=inside) else _own_row(submission)
        return [StandingSerializer(row).data] if row else []

    def matches(self, submission: Submission, user: User | AnonymousUser) -> Sequence[MatchAnswer]:
        """Return its pairs with the opponents that count; in a freeze only its team and the organisers see them."""
        entry = submission.repository.entry
        tournament = tournament_in_force(entry.competition)
        hidden = not (sees_live(user, entry.competition) or sees_scores_of(user, entry))
        if tournament is None or hidden or submission.state != Submission.State.READY:
            return ()
        return pairs_of_submission(tournament, submission)

    def match(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None
    ) -> MatchAnswer | None:
        """Return a pair of entrants that count, or of a published round."""
        if played is not None:
            public = played.state == Round.State.PUBLISHED and pairs_public(played, user)
            return pair_of_entrants(frozen_tournament(played), key) if public else None
        tournament = tournament_in_force(competition) if sees_live(user, competition) else None
        return pair_of_entrants(tournament, key) if tournament else None

    def match_picture(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None, picture: Picture
    ) -> bytes | None:
        """Return a picture of what the attack of a pair made in a round; those of leaderboards are secret."""
        attack = attack_of(key)
        if played is None or attack is None:
            return None
        return round_picture(played, attack, picture.sample, picture.name, user)

    def leaderboard(
        self, track: Track, user: User | AnonymousUser, page: str, at: datetime | None
    ) -> Mapping[str, Any]:
        """Return the whole leaderboard on every page; while it is frozen, the public sees no rows."""
        only_now(at)
        live = sees_live(user, track.competition)
        found = board_of(track) if live else TransferBoard()
        since = None if live else frozen_since(track.competition)
        return TransferBoardSerializer(found, context={"frozen_since": since}).data

    def round_result(self, published: Round) -> RoundResult:
        """Return the places."""
        found = transfer_standings.standings(published)
        return RoundResult({name: TransferPlaceSerializer(rows, many=True).data for name, rows in found.items()})


def _own_row(submission: Submission) -> TransferBoardRow | None:
    """Return the row of a submission that counts; in a freeze without the rank, as the public leaderboard has none."""
    row = row_of_submission(submission)
    frozen = frozen_since(submission.repository.entry.competition) is not None
    return row.without_rank if row and frozen else row


def _hidden(submission: Submission, *, inside: bool) -> bool:
    return not inside and frozen_since(submission.repository.entry.competition) is not None


def _runs(submission: Submission) -> dict[str, int] | None:
    """Return how many runs are played of those that are known; None unless the submission is being evaluated."""
    if submission.state != Submission.State.READY:
        return None
    tournament = tournament_in_force(submission.repository.entry.competition)
    progress = progress_of_submission(tournament, submission) if tournament else None
    return {"played": progress[0], "needed": progress[1]} if progress else None
