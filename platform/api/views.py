"""The operations of the API. Each one is a class; what it may and does is said by the rooms below."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import check_member, competition_of, own_repository, sees_inside, submission_of
from api.serializers import (
    AllowanceSerializer,
    BoardSerializer,
    CommitSerializer,
    CompetitionSerializer,
    SubmissionSerializer,
    WholeCompetitionSerializer,
    WholeSubmissionSerializer,
)
from competitions.selectors import visible_competitions
from leaderboards.selectors import board, sees_live
from submissions import services
from submissions.models import Submission
from submissions.selectors import allowance_of


class ListCompetitions(APIView):
    """GET: the competitions that whoever asks may see."""

    def get(self, request: Request) -> Response:
        """All of them, newest first."""
        return Response(CompetitionSerializer(visible_competitions(request.user), many=True).data)


class ShowCompetition(APIView):
    """GET: a competition with tracks, rules in force, freeze windows and sample sets."""

    def get(self, request: Request, slug: str) -> Response:
        """The one called `slug`."""
        return Response(WholeCompetitionSerializer(competition_of(request, slug)).data)


class ShowLeaderboard(APIView):
    """GET: a page (`?page=2`) of a track's leaderboard."""

    def get(self, request: Request, slug: str, track_name: str) -> Response:
        """The page nearest to the one asked for."""
        competition = competition_of(request, slug)
        track = get_object_or_404(competition.tracks, name=track_name)
        still = not sees_live(request.user, competition)
        page = board(track, request.query_params.get("page", "1"), frozen=still)
        return Response(BoardSerializer(page).data)


class ShowSubmission(APIView):
    """GET: a submission: score and opponents for everyone, the rest for its team and the organisers."""

    def get(self, request: Request, number: int) -> Response:
        """The one with `number`."""
        return Response(_shown(request, submission_of(request, number)))


class WithdrawSubmission(APIView):
    """POST: take a submission back, for good."""

    def post(self, request: Request, number: int) -> Response:
        """The one with `number`; answers with what it is then."""
        submission = submission_of(request, number)
        by = check_member(request, submission.repository.entry)
        services.withdraw(submission=submission, by=by)
        return Response(_shown(request, submission_of(request, number)))


class ShowQuota(APIView):
    """GET: what the team may still submit to a track."""

    def get(self, request: Request, team: str, track_name: str) -> Response:
        """For members."""
        return Response(AllowanceSerializer(allowance_of(own_repository(request, team, track_name))).data)


class Submit(APIView):
    """POST {"commit": ...}: submit a commit that the repository holds, past the same checks as a push."""

    def post(self, request: Request, team: str, track_name: str) -> Response:
        """For members; answers with the submission."""
        repository = own_repository(request, team, track_name)
        wanted = CommitSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        submission = services.submit(
            repository=repository,
            commit=wanted.validated_data["commit"],
            by=check_member(request, repository.entry),
        )
        return Response(_shown(request, submission_of(request, submission.pk)), status=status.HTTP_201_CREATED)


def _shown(request: Request, submission: Submission) -> object:
    inside = sees_inside(request, submission.repository.entry)
    shape = WholeSubmissionSerializer if inside else SubmissionSerializer
    return shape(submission).data
