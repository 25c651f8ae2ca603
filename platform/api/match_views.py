"""Matches in the API."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import competition_of, one_of, submission_of
from api.base_views import ApiView, WholeListView
from api.formats import Picture, api_formats
from api.pagination import list_of, whole_list
from api.picture_views import picture_schema
from api.serializers import MatchSerializer, WholeMatchSerializer
from competitions.models import Competition
from core.picture_answers import picture_answer
from rounds.models import Round


class ListMatches(WholeListView):
    """The matches that the newest score of a submission is made of. Formats without matches have none."""

    @extend_schema(responses=list_of(MatchSerializer))
    def get(self, request: Request, number: int) -> Response:
        """Return those of which the reader sees the numbers."""
        submission = submission_of(request, number)
        own = api_formats.of(submission.repository.entry.competition)
        return whole_list(MatchSerializer(own.matches(submission, request.user), many=True).data)


class ShowMatch(ApiView):
    """A match behind the leaderboards, with a row for each sample where these are public."""

    table = "samples"

    @extend_schema(responses=WholeMatchSerializer)
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Return the match with this key."""
        competition = competition_of(request, slug)
        return _shown(request, competition, key, None)


class ShowRoundMatch(ApiView):
    """A match of a round, once the round shows who met whom. An objection names it by its key."""

    table = "samples"

    @extend_schema(responses=WholeMatchSerializer)
    def get(self, request: Request, slug: str, number: int, key: str) -> Response:
        """Return the match with this key."""
        competition = competition_of(request, slug)
        return _shown(request, competition, key, _round(competition, number))


class ShowMatchPicture(ApiView):
    """A picture of a sample of a match behind the leaderboards, where its images are public."""

    @picture_schema
    def get(self, request: Request, slug: str, key: str, sample: int, name: str) -> HttpResponse:
        """Return the picture `clean`, `perturbed`, or `difference-` and an amplification."""
        return _picture(request, competition_of(request, slug), key, None, Picture(sample, name))


class ShowRoundMatchPicture(ApiView):
    """A picture of a sample of a match of a round, while its images are released.

    In the transfer format it is what the attack of the pair made, against all defences.
    """

    @picture_schema
    def get(self, request: Request, slug: str, number: int, key: str, sample: int, name: str) -> HttpResponse:
        """Return the picture `clean`, `perturbed`, or `difference-` and an amplification."""
        competition = competition_of(request, slug)
        return _picture(request, competition, key, _round(competition, number), Picture(sample, name))


def _round(competition: Competition, number: int) -> Round:
    return one_of(competition.rounds.select_related("window", "competition"), "round", number=number)


def _picture(
    request: Request, competition: Competition, key: str, played: Round | None, picture: Picture
) -> HttpResponse:
    own = api_formats.of(competition)
    return picture_answer(
        lambda: own.match_picture(competition, key, request.user, played=played, picture=picture), NotFound
    )


def _shown(request: Request, competition: Competition, key: str, played: Round | None) -> Response:
    found = api_formats.of(competition).match(competition, key, request.user, played=played)
    if found is None:
        raise NotFound("there is no such match")
    return Response(WholeMatchSerializer(found).data)
