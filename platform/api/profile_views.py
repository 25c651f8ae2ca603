"""The profile and the teams of the person who sends a request."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken, Membership
from accounts.selectors import teams_of
from api.access import signed_in
from api.base_views import ApiView, WholeListView
from api.pagination import list_of, whole_list
from api.serializers import OwnTeamSerializer, ProfileSerializer
from competitions.permissions import visible_competitions


class ShowProfile(ApiView):
    """Who you are, what your token may do, and your teams."""

    @extend_schema(responses=ProfileSerializer)
    def get(self, request: Request) -> Response:
        """Return the profile."""
        user = signed_in(request)
        token = request.auth if isinstance(request.auth, AccessToken) else None
        teams = teams_of(user).values_list("slug", flat=True)
        return Response(ProfileSerializer({"username": user.username, "token": token, "teams": list(teams)}).data)


class ListOwnTeams(WholeListView):
    """Your teams in the competitions that you may see, with their tracks and the addresses of their repositories."""

    @extend_schema(responses=list_of(OwnTeamSerializer))
    def get(self, request: Request) -> Response:
        """Return them in the order of their short names."""
        user = signed_in(request)
        own = Membership.objects.filter(user=user, team__entry__competition__in=visible_competitions(user))
        related = own.select_related("team__entry__competition").order_by("team__slug")
        related = related.prefetch_related("team__memberships__user", "team__entry__competition__tracks")
        context = {"site": request.build_absolute_uri("/").rstrip("/")}
        return whole_list(OwnTeamSerializer(related, many=True, context=context).data)
