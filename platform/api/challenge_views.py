"""Challenges in the API: unranked matches that teams request, in formats that offer them."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import check_inside, check_member, submission_of
from api.base_views import ApiView, WholeListView
from api.formats import ChallengeAnswer, Picture, api_formats
from api.pagination import list_of, whole_list
from api.picture_views import picture_schema
from api.request_bodies import ChallengeRequestSerializer, values_of
from api.serializers import ChallengeSerializer, OpponentSerializer, WholeChallengeSerializer
from core.picture_answers import picture_answer
from submissions.models import Submission


class ListChallenges(WholeListView):
    """The challenges of a submission, newest first, for its team and the organisers. Some formats offer none."""

    @extend_schema(responses=list_of(ChallengeSerializer))
    def get(self, request: Request, number: int) -> Response:
        """Return all of them, without samples."""
        submission = _inside(request, number)
        found = api_formats.of(submission.repository.entry.competition).challenges(submission)
        return whole_list(ChallengeSerializer(found, many=True).data)

    @extend_schema(
        operation_id="challenge",
        description="Request an unranked match of a ready submission against an opponent whose files are public; the "
        "same one again changes nothing and answers 200.",
        request=ChallengeRequestSerializer,
        responses={200: WholeChallengeSerializer, 201: WholeChallengeSerializer},
    )
    def post(self, request: Request, number: int) -> Response:
        """Request a challenge and return it, or the same one that is there already."""
        submission = submission_of(request, number)
        by = check_member(request, submission.repository.entry)
        opponent = values_of(request, ChallengeRequestSerializer)["opponent"]
        own = api_formats.of(submission.repository.entry.competition)
        made, new = own.request_challenge(submission, opponent, by)
        code = status.HTTP_201_CREATED if new else status.HTTP_200_OK
        return Response(WholeChallengeSerializer(_found(submission, made)).data, status=code)


class ListOpponents(WholeListView):
    """The opponents that a submission may challenge, for its team and the organisers. Some formats have none."""

    @extend_schema(responses=list_of(OpponentSerializer))
    def get(self, request: Request, number: int) -> Response:
        """Return all of them: baselines, then submissions, newest first."""
        submission = _inside(request, number)
        found = api_formats.of(submission.repository.entry.competition).opponents(submission)
        return whole_list(OpponentSerializer(found, many=True).data)


class ShowChallenge(ApiView):
    """A challenge of a submission with a row for each sample, for its team and the organisers."""

    table = "samples"

    @extend_schema(responses=WholeChallengeSerializer)
    def get(self, request: Request, number: int, challenge: int) -> Response:
        """Return the challenge with this number."""
        return Response(WholeChallengeSerializer(_found(_inside(request, number), challenge)).data)


class ShowChallengePicture(ApiView):
    """A picture of a sample of a challenge, for its team and the organisers. Those of a hidden attack are not shown."""

    @picture_schema
    def get(self, request: Request, number: int, challenge: int, sample: int, name: str) -> HttpResponse:
        """Return the picture `clean`, `perturbed`, or `difference-` and an amplification."""
        submission = _inside(request, number)
        own = api_formats.of(submission.repository.entry.competition)
        return picture_answer(lambda: own.challenge_picture(submission, challenge, Picture(sample, name)), NotFound)


def _inside(request: Request, number: int) -> Submission:
    submission = submission_of(request, number)
    check_inside(request, submission.repository.entry)
    return submission


def _found(submission: Submission, number: int) -> ChallengeAnswer:
    found = api_formats.of(submission.repository.entry.competition).challenge(submission, number)
    if found is None:
        raise NotFound("there is no such challenge")
    return found
