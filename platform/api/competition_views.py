"""Competitions, their rules and leaderboards in the API. Permissions and services are in the apps below."""

from __future__ import annotations

import re

from django.db.models import QuerySet
from django.urls import URLPattern, get_resolver, reverse
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import competition_of, one_of
from api.address_prefix import PREFIX
from api.base_views import ApiView, ListView, WholeListView
from api.formats import api_formats
from api.pagination import list_of, whole_list
from api.query_parameters import whole_number
from api.serializers import (
    CompetitionSerializer,
    DataSetSerializer,
    IndexSerializer,
    RulesSerializer,
    TrackSerializer,
    WholeCompetitionSerializer,
    shape_of_each_format,
)
from competitions.models import Competition, SampleSet
from competitions.permissions import visible_competitions
from competitions.sample_set_selectors import imported_sets
from core.participant_kit import kit
from core.past_time_parameter import past_time
from evaluation import __version__

_NAMED = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")
"""A part of an address that a converter reads."""


class ShowIndex(ApiView):
    """The version of the program, the OpenAPI document, its page, what installs the command, and all addresses."""

    @extend_schema(responses=IndexSerializer)
    def get(self, request: Request) -> Response:
        """Return each address once, with the names of what stands in it."""
        (resolver,) = (each for each in get_resolver("api.urls").url_patterns if not isinstance(each, URLPattern))
        paths = [PREFIX + _NAMED.sub(r"{\1}", str(each.pattern)) for each in resolver.url_patterns]
        return Response(
            {
                "version": __version__,
                "openapi": request.build_absolute_uri(reverse("api:openapi")),
                "documentation": request.build_absolute_uri(reverse("api:docs")),
                "kit": request.build_absolute_uri(reverse("pages:kit_requirements")) if kit() else None,
                "addresses": paths,
            }
        )


class ListCompetitions(ListView[Competition]):
    """The competitions that you may see, newest first."""

    serializer_class = CompetitionSerializer

    def get_queryset(self) -> QuerySet[Competition]:
        """Return those that the user sees."""
        return visible_competitions(self.request.user)


class ShowCompetition(ApiView):
    """A competition with tracks, rules in force, freeze windows and sample sets.

    `smoke_test` is what `gauntlet check --competition` needs.
    """

    @extend_schema(responses=WholeCompetitionSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the competition with `slug`."""
        return Response(WholeCompetitionSerializer(competition_of(request, slug)).data)


class ShowDataSet(ApiView):
    """The data set of a competition: its images, its classes, and where the public samples are."""

    @extend_schema(responses=DataSetSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return it. Raise 404 before the competition has rules and samples."""
        competition = competition_of(request, slug)
        sets = imported_sets(competition).order_by("-pk")
        rules, newest = competition.rules_versions.first(), sets.first()
        if rules is None or newest is None:
            raise NotFound("the competition has no data set yet")
        public = sets.filter(purpose=SampleSet.Purpose.DEVELOPMENT).first()
        validation = sets.filter(purpose=SampleSet.Purpose.VALIDATION).first()
        archive = request.build_absolute_uri(reverse("pages:development_archive", args=[slug]))
        image = request.build_absolute_uri(reverse("pages:development_image", args=[slug, 0]))
        return Response(
            {
                "shape": list(rules.engine_rules.shape),
                "classes": newest.class_names,
                "development": public
                and {"count": public.count, "archive": archive, "image": image.replace("/0.png", "/{sample}.png")},
                "validation": validation.count if validation else 0,
            }
        )


class ListTracks(WholeListView):
    """The tracks of a competition, in their order."""

    @extend_schema(responses=list_of(TrackSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """Return all tracks."""
        return whole_list(TrackSerializer(competition_of(request, slug).tracks.all(), many=True).data)


class ListRules(WholeListView):
    """The versions of the rules of a competition, newest first. The first one is in force."""

    @extend_schema(responses=list_of(RulesSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """Return all versions."""
        versions = competition_of(request, slug).rules_versions.order_by("-version")
        return whole_list(RulesSerializer(versions, many=True).data)


class ShowLeaderboard(ApiView):
    """A page of the leaderboard of a track: now, or as of a past time in formats that keep it."""

    table = "rows"

    @extend_schema(
        parameters=[
            OpenApiParameter("page", int, description="The number of the page, from 1."),
            OpenApiParameter("at", str, description="A past time: 2026-11-23, or 2026-11-23T12:00Z."),
        ],
        responses=PolymorphicProxySerializer(
            "Leaderboard", lambda: shape_of_each_format("leaderboard"), resource_type_field_name=None
        ),
    )
    def get(self, request: Request, slug: str, track_name: str) -> Response:
        """Return the requested page, or the nearest one."""
        competition = competition_of(request, slug)
        track = one_of(competition.tracks.all(), "track", name=track_name)
        page, at = str(whole_number(request, "page", default=1, least=1)), request.query_params.get("at", "")
        return Response(api_formats.of(competition).leaderboard(track, request.user, page, past_time(at)))
