"""Announcements of a competition in the API."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken
from api.access import check_role, competition_of
from api.base_views import ListView
from api.request_bodies import AnnounceSerializer, values_of
from api.serializers import AnnouncementSerializer
from competitions.models import Announcement
from competitions.organiser_pages import announce_once
from competitions.permissions import may
from competitions.selectors import announcements_of
from core.roles import Right


class ListAnnouncements(ListView[Announcement]):
    """The announcements of a competition, newest first; for organisers also those that are to come."""

    serializer_class = AnnouncementSerializer
    scope_of_changes = AccessToken.Scope.ORGANISE

    def get_queryset(self) -> QuerySet[Announcement]:
        """Return those that the reader sees."""
        competition = competition_of(self.request, self.kwargs["slug"])
        return announcements_of(competition, with_coming=may(self.request.user, competition, Right.ANSWER))

    @extend_schema(
        operation_id="announce",
        description="Publish an announcement, now or at a time; the same one again changes nothing and answers 200. "
        "For organisers and helpers.",
        request=AnnounceSerializer,
        responses={200: AnnouncementSerializer, 201: AnnouncementSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Publish an announcement and return it, or the same one that is there already."""
        competition = competition_of(request, slug)
        by = check_role(request, competition, Right.ANSWER)
        made, new = announce_once(competition=competition, by=by, **values_of(request, AnnounceSerializer))
        code = status.HTTP_201_CREATED if new else status.HTTP_200_OK
        return Response(AnnouncementSerializer(made).data, status=code)
