"""Matches in the API."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import competition_of, one_of, submission_of
from api.base_views import ApiView
from api.formats import api_formats
from api.pagination import list_of, whole_list
from api.serializers import MatchSerializer, WholeMatchSerializer
from competitions.models import Competition
from rounds.models import Round


class ListMatches(ApiView):
    """The matches that the newest score of a submission is made of. Formats without matches have none."""

    @extend_schema(responses=list_of(MatchSerializer))
    def get(self, request: Request, number: int) -> Response:
        """Return those of which the reader sees the numbers."""
        submission = submission_of(request, number)
        own = api_formats.of(submission.repository.entry.competition)
        return whole_list(MatchSerializer(own.matches(submission, request.user), many=True).data)


class ShowMatch(ApiView):
    """A match behind the leaderboards, with a row for each sample where these are public."""

    @extend_schema(responses=WholeMatchSerializer)
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Return the match with this key."""
        competition = competition_of(request, slug)
        return _shown(request, competition, key, None)


class ShowRoundMatch(ApiView):
    """A match of a round, once the round shows who met whom. An objection names it by its key."""

    @extend_schema(responses=WholeMatchSerializer)
    def get(self, request: Request, slug: str, number: int, key: str) -> Response:
        """Return the match with this key."""
        competition = competition_of(request, slug)
        rounds = competition.rounds.select_related("window", "competition")
        return _shown(request, competition, key, one_of(rounds, "round", number=number))


def _shown(request: Request, competition: Competition, key: str, played: Round | None) -> Response:
    found = api_formats.of(competition).match(competition, key, request.user, played=played)
    if found is None:
        raise NotFound("there is no such match")
    return Response(WholeMatchSerializer(found).data)
