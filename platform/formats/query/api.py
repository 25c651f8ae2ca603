"""The answers of the API in the query format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from rest_framework import serializers

from accounts.models import User
from api.formats import (
    AnswerShapes,
    ChallengeAnswer,
    MatchAnswer,
    OpponentAnswer,
    Picture,
    RoundResult,
    SubmissionProgress,
)
from competitions.board_freezes import sees_live
from competitions.models import Competition, Track
from core import rounding
from formats.query.api_serializers import (
    EvaluationSerializer,
    MatchNumbersSerializer,
    MatchSampleSerializer,
    QueryBoardSerializer,
    QueryPlaceSerializer,
    WarningSerializer,
)
from formats.query.challenges import play_challenge
from formats.query.challenges import services as challenge_services
from formats.query.challenges.models import Challenge
from formats.query.challenges.opponents import opponents_of
from formats.query.challenges.selectors import challenges_by, of_hidden_attack
from formats.query.leaderboards import choose_submission, services
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.score_visibility import (
    board,
    evaluation_of,
    public_evaluation_of,
    row_of,
    shown_evaluations_of,
)
from formats.query.matches import match_pictures
from formats.query.matches.match_numbers_and_curves import MatchSampleRow, rows_of, summary
from formats.query.matches.models import Match
from formats.query.rounds.decision_text import why
from formats.query.rounds.match_visibility import Sight, scores_seen, sight_of
from formats.query.rounds.stages_and_decisions import stages
from formats.query.tracks import MODEL
from repositories.models import Repository
from rounds.models import Round
from rounds.selectors import standings
from submissions.models import Player, Submission

PAGE_ROWS = 100
"""Rows on a page of a leaderboard for programs; pages for people have fewer."""

_SIGHT = ("rules__competition", "sample_set", "round_match__round__window", "round_match__round__competition")
"""What `sight_of` needs of a match."""

_MOST_DIGITS = 18


class QueryApi:
    """See `api.formats.ApiFormat`."""

    shapes = AnswerShapes(
        QueryBoardSerializer, QueryPlaceSerializer, EvaluationSerializer, MatchNumbersSerializer, MatchSampleSerializer
    )
    submission_fields: Mapping[str, serializers.Field[Any, Any, Any, Any]] = {"evaluation": EvaluationSerializer()}

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return the newest evaluation; while leaderboards are frozen, the public sees the one before the freeze."""
        evaluation = evaluation_of(submission) if inside else public_evaluation_of(submission)
        return {"evaluation": _evaluations([evaluation])[0] if evaluation else None}

    def progress(self, submission: Submission, *, inside: bool) -> SubmissionProgress:
        """Return the score of the same evaluation, and the rank where the submission is the one that counts.

        The rank is that of the public leaderboard.
        """
        evaluation = evaluation_of(submission) if inside else public_evaluation_of(submission)
        if evaluation is None or evaluation.state == Evaluation.State.PLAYING:
            return SubmissionProgress(final=False)
        if evaluation.value is None:
            return SubmissionProgress(final=True)
        row = row_of(submission.repository.track, submission.repository.entry)
        rank = row.rank if row and row.submission == submission.pk else None
        return SubmissionProgress(final=True, score=rounding.distance(evaluation.value), rank=rank)

    def evaluations(self, submission: Submission, *, inside: bool) -> Sequence[Mapping[str, Any]]:
        """Return the evaluations that count; while leaderboards are frozen, the public sees those before the freeze."""
        return _evaluations(list(shown_evaluations_of(submission, inside=inside)))

    def matches(self, submission: Submission, user: User | AnonymousUser) -> Sequence[MatchAnswer]:
        """Return the matches of the newest evaluation whose score the person sees."""
        competition = submission.repository.entry.competition
        newest = submission.evaluations.filter(scores_seen(competition, user)).order_by("-pk").first()
        if newest is None:
            return ()
        return list(_answers(newest.matches.select_related("model", "attack").order_by("pk")))

    def match(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None
    ) -> MatchAnswer | None:
        """Return a match as its page shows it, with a row for each sample where these are public."""
        match = _match(competition, key, played)
        sight = sight_of(match, user) if match else None
        return next(_answers([match], sight)) if match and sight else None

    def match_picture(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None, picture: Picture
    ) -> bytes | None:
        """Return a picture as the page of the match shows it."""
        match = _match(competition, key, played)
        sight = sight_of(match, user) if match else None
        if match is None or sight is None or not sight.shows(picture.sample, picture.name):
            return None
        return match_pictures.picture(match, picture.sample, picture.name)

    def choose(self, submission: Submission, by: User) -> None:
        """Make the submission count, where the rules let teams choose."""
        choose_submission.choose(submission=submission, by=by)

    def choose_newest(self, repository: Repository, by: User) -> None:
        """End the choice of the team, where it has made one."""
        choose_submission.choose_newest(repository=repository, by=by)

    def challenges(self, submission: Submission) -> Sequence[ChallengeAnswer]:
        """Return those that are waiting, played, failed or cancelled."""
        return [_challenge(each) for each in challenges_by(submission)]

    def challenge(self, submission: Submission, number: int) -> ChallengeAnswer | None:
        """Return a challenge with a row for each played sample."""
        found = challenges_by(submission).filter(pk=number).first()
        if found is None or not found.results:
            return _challenge(found) if found else None
        samples = MatchSampleSerializer(found.results, many=True).data
        return replace(_challenge(found), samples=list(samples))

    def challenge_picture(self, submission: Submission, number: int, picture: Picture) -> bytes | None:
        """Return a picture of a played sample; None of a hidden attack."""
        found = challenges_by(submission).filter(pk=number).first()
        if found is None or of_hidden_attack(found):
            return None
        return play_challenge.picture(found, picture.sample, picture.name)

    def opponents(self, submission: Submission) -> Sequence[OpponentAnswer]:
        """Return the bundled baselines of the other side, and its submissions whose code is released."""
        return [
            OpponentAnswer(
                opponent=each.name,
                track=each.track_name,
                title=each.title,
                team=each.team,
                submission=each.submission.pk if each.submission else None,
            )
            for each in opponents_of(submission)
        ]

    def request_challenge(self, submission: Submission, opponent: str, by: User) -> tuple[int, bool]:
        """Request an unranked match on the first development samples, unless the same one is there already."""
        found, new = challenge_services.challenge_once(submission=submission, opponent=opponent, by=by)
        return found.pk, new

    def leaderboard(
        self, track: Track, user: User | AnonymousUser, page: str, at: datetime | None
    ) -> Mapping[str, Any]:
        """Return a page of at most `PAGE_ROWS` rows."""
        shown = board(track, page, frozen=not sees_live(user, track.competition), page_rows=PAGE_ROWS, at=at)
        return QueryBoardSerializer(shown).data

    def round_result(self, published: Round) -> RoundResult:
        """Return the places, and the eliminated attacks that came nearer than those that counted."""
        warnings = published.warnings.select_related("attack", "model")
        places = {name: QueryPlaceSerializer(rows, many=True).data for name, rows in standings(published).items()}
        return RoundResult(places, WarningSerializer(warnings, many=True).data)

    def re_evaluate(self, submission: Submission, by: User, reason: str) -> None:
        """Begin a new evaluation. Raise `Refusal`."""
        services.re_evaluate(submission=submission, by=by, reason=reason)

    def decisions(self, published: Round, user: User | AnonymousUser) -> Sequence[Mapping[str, Any]]:
        """Return the decision log, without panels: the first one may show the order of frozen leaderboards."""
        return [
            {
                "bracket": bracket.track_name,
                "stage": stage.number,
                "samples": stage.samples,
                "track": track,
                "player": line.name.title,
                "teams": line.name.teams,
                "place": line.place,
                "ordered_by": stage.ordered_by,
                "value": None if line.value is None else rounding.distance(line.value),
                "cut_line": None if line.cut_line is None else rounding.distance(line.cut_line),
                "kept": line.kept,
                "spared": line.spared,
                "inconsistent": line.inconsistent,
                "why": "" if line.kept else why(stage, line),
            }
            for bracket in stages(published)
            for stage in bracket.stages
            for track, lines in ((MODEL, stage.models), (bracket.track_name, stage.attacks))
            for line in lines
        ]


def _match(competition: Competition, key: str, played: Round | None) -> Match | None:
    """Return a match by its key; None for an unknown one, also in the round `played`."""
    if not key.isdecimal() or len(key) > _MOST_DIGITS:
        return None
    related = Match.objects.select_related(*_SIGHT, "model", "attack")
    of_round = {"round_match__round": played} if played else {}
    return related.filter(rules__competition=competition, pk=int(key), **of_round).first()


def _evaluations(evaluations: Sequence[Evaluation]) -> Sequence[Mapping[str, Any]]:
    """Return evaluations with the titles of their opponents."""
    met = {row["player"] for each in evaluations for row in each.per_opponent}
    titles = dict(Player.objects.filter(pk__in=met).values_list("pk", "title"))
    return list(EvaluationSerializer(evaluations, many=True, context={"titles": titles}).data)


def _challenge(row: Challenge) -> ChallengeAnswer:
    """Return a challenge without its samples."""
    numbers = summary([MatchSampleRow(**each) for each in row.results])
    return ChallengeAnswer(
        number=row.pk,
        submission=row.submission_id,
        opponent=row.opponent_name,
        opponent_title=row.opponent.title if row.opponent else row.baseline,
        track=row.opponent_track,
        state=row.progress.value,
        requested_by=row.by.username,
        requested_at=row.requested_at,
        played_at=row.played_at,
        rules=row.rules.version,
        sample_set=row.sample_set.name,
        numbers=MatchNumbersSerializer(numbers).data if numbers else None,
    )


def _answers(matches: Iterable[Match], sight: Sight | None = None) -> Iterator[MatchAnswer]:
    """Yield matches, with their samples as far as `sight` says; without one, none."""
    found = list(matches)
    players = {player for each in found for player in (each.model, each.attack)}
    sent = Submission.objects.filter(player__in=[each for each in players if not each.baseline]).order_by("-pk")
    submissions = dict(sent.values_list("player", "pk"))  # the first one that submitted it
    for match in found:
        rows = rows_of(match, sight.samples if sight else None)
        numbers = summary(rows)
        yield MatchAnswer(
            key=str(match.pk),
            track=match.attack.track_name,
            state=match.state,
            model=match.model.title,
            model_submission=submissions.get(match.model_id),
            attack=match.attack.title,
            attack_submission=submissions.get(match.attack_id),
            numbers=MatchNumbersSerializer(numbers).data if numbers else None,
            samples=list(MatchSampleSerializer([row._asdict() for row in rows], many=True).data)
            if sight and sight.rows
            else None,
        )
