"""Views of the API, one class per operation. Permissions and services are in the apps below."""

from __future__ import annotations

import re

from django.urls import get_resolver
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import check_member, competition_of, one_of, own_repository, sees_inside, submission_of
from api.formats import api_formats
from api.serializers import (
    AllowanceSerializer,
    CommitSerializer,
    CompetitionSerializer,
    SubmissionSerializer,
    WholeCompetitionSerializer,
    WholeSubmissionSerializer,
)
from competitions.selectors import visible_competitions
from evaluation import __version__
from submissions import services
from submissions.models import Submission
from submissions.quota import allowance_of

_NAMED = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")
"""A part of an address that a converter reads."""


class ListAddresses(APIView):
    """GET: the version of the program, and the addresses of the API."""

    def get(self, request: Request) -> Response:
        """Return each address once, with the names of what stands in it."""
        paths = ["/api/" + _NAMED.sub(r"{\1}", str(each.pattern)) for each in get_resolver("api.urls").url_patterns]
        return Response({"version": __version__, "addresses": [path.rstrip("/") for path in paths]})


class ListCompetitions(APIView):
    """GET: the competitions that the user may see."""

    def get(self, request: Request) -> Response:
        """Return all of them, newest first."""
        return Response(CompetitionSerializer(visible_competitions(request.user), many=True).data)


class ShowCompetition(APIView):
    """GET: a competition with tracks, rules in force, freeze windows and sample sets."""

    def get(self, request: Request, slug: str) -> Response:
        """Return the competition with `slug`."""
        return Response(WholeCompetitionSerializer(competition_of(request, slug)).data)


class ShowLeaderboard(APIView):
    """GET: a page (`?page=2`) of a track's leaderboard."""

    def get(self, request: Request, slug: str, track_name: str) -> Response:
        """Return the requested page, or the nearest one."""
        competition = competition_of(request, slug)
        track = one_of(competition.tracks.all(), "track", name=track_name)
        page = request.query_params.get("page", "1")
        return Response(api_formats.of(competition).leaderboard(track, request.user, page))


class ShowSubmission(APIView):
    """GET: a submission. Everyone sees how it scored; the rest is for its team and the organisers."""

    def get(self, request: Request, number: int) -> Response:
        """Return the submission with `number`."""
        return Response(_shown(request, submission_of(request, number)))


class WithdrawSubmission(APIView):
    """POST: withdraw a submission permanently."""

    def post(self, request: Request, number: int) -> Response:
        """Withdraw the submission with `number` and return it."""
        submission = submission_of(request, number)
        by = check_member(request, submission.repository.entry)
        services.withdraw(submission=submission, by=by)
        return Response(_shown(request, submission_of(request, number)))


class ShowQuota(APIView):
    """GET: the quota of a team in a track."""

    def get(self, request: Request, team: str, track_name: str) -> Response:
        """Return the quota, for members only."""
        return Response(AllowanceSerializer(allowance_of(own_repository(request, team, track_name))).data)


class Submit(APIView):
    """POST {"commit": ...}: submit a commit of the repository, with the same checks as a push."""

    def post(self, request: Request, team: str, track_name: str) -> Response:
        """Submit the commit and return the submission, for members only."""
        repository = own_repository(request, team, track_name)
        serializer = CommitSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        submission = services.submit(
            repository=repository,
            commit=serializer.validated_data["commit"],
            by=check_member(request, repository.entry),
        )
        return Response(_shown(request, submission_of(request, submission.pk)), status=status.HTTP_201_CREATED)


def _shown(request: Request, submission: Submission) -> object:
    inside = sees_inside(request, submission.repository.entry)
    serializer = WholeSubmissionSerializer if inside else SubmissionSerializer
    return serializer(submission).data
