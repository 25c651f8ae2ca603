"""Teams, their members and invitations, and the terms that they accept: what captains and members do on the site."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken, Invitation, Membership
from accounts.selectors import open_invitations, teams_of
from accounts.services import remove_member
from api.access import check_captain, check_member, competition_of, entry_of, one_of, signed_in
from api.base_views import ApiView, ListView, WholeListView
from api.pagination import list_of, whole_list
from api.request_bodies import AcceptTermsSerializer, FoundTeamSerializer, InviteSerializer, values_of
from api.serializers import AnswerSerializer
from competitions import team_invitations
from competitions.models import Entry, TermsVersion
from competitions.permissions import visible_competitions
from competitions.selectors import acceptance_of, invitations_of, terms_in_force
from competitions.services import make_team
from competitions.terms import accept_terms


class TeamSerializer(AnswerSerializer[Entry]):
    """A team in a competition. The first of its `members` is its captain."""

    slug = serializers.CharField(source="team.slug")
    name = serializers.CharField(source="team.name")
    competition = serializers.CharField(source="competition.slug")
    members = serializers.SerializerMethodField()

    class Meta:
        model = Entry
        fields = ("slug", "name", "competition", "joined_at", "members")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_members(self, entry: Entry) -> list[str]:
        """Return the user names of its members."""
        found = sorted(entry.team.memberships.all(), key=lambda each: each.role != Membership.Role.CAPTAIN)
        return [each.user.username for each in found]


class InvitationSerializer(AnswerSerializer[Invitation]):
    """An invitation into a team. Its captain does not learn whether there is an account of this name."""

    number = serializers.IntegerField(source="pk")
    team = serializers.CharField(source="team.slug")
    competition = serializers.CharField(source="team.entry.competition.slug")
    invited_by = serializers.CharField(source="invited_by.username")

    class Meta:
        model = Invitation
        fields = ("number", "team", "competition", "username", "invited_by", "state", "made_at", "expires_at")


_INVITATIONS = list_of(InvitationSerializer)


class TermsSerializer(AnswerSerializer[TermsVersion]):
    """The terms in force. `accepted` says whether your team has accepted this `digest`, null without a team."""

    accepted = serializers.SerializerMethodField()

    class Meta:
        model = TermsVersion
        fields = ("version", "text", "digest", "created_at", "accepted")

    def get_accepted(self, terms: TermsVersion) -> bool | None:
        """Return whether the team of the reader has accepted them."""
        entry: Entry | None = self.context["entry"]
        return None if entry is None else acceptance_of(entry, terms) is not None


class ListTeams(ListView[Entry]):
    """The teams of a competition with their members, newest first."""

    serializer_class = TeamSerializer
    scope_of_changes = AccessToken.Scope.TEAM

    def get_queryset(self) -> QuerySet[Entry]:
        """Return those of the competition."""
        return _with_members(Entry.objects.filter(competition=competition_of(self.request, self.kwargs["slug"])))

    @extend_schema(
        operation_id="foundTeam",
        description="Found a team for a competition; you are its captain, and accept the terms in force by their "
        "digest.",
        request=FoundTeamSerializer,
        responses={201: TeamSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Found a team and return it."""
        competition, captain = competition_of(request, slug), signed_in(request)
        made = make_team(competition=competition, captain=captain, **values_of(request, FoundTeamSerializer))
        return Response(_shown(made), status=status.HTTP_201_CREATED)


class ShowTeam(ApiView):
    """A team with its members."""

    @extend_schema(responses=TeamSerializer)
    def get(self, request: Request, team: str) -> Response:
        """Return the team."""
        return Response(_shown(entry_of(request, team)))


class RemoveMember(ApiView):
    """Remove a member from a team, as its captain, or leave it."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(request=None, responses=TeamSerializer)
    def post(self, request: Request, team: str, username: str) -> Response:
        """Remove the member of this user name and return the team."""
        entry = entry_of(request, team)
        by = check_member(request, entry)
        found = one_of(entry.team.memberships.select_related("user"), "member", user__username=username)
        remove_member(team=entry.team, user=found.user, by=by)
        return Response(_shown(entry))


class ListInvitations(WholeListView):
    """The open invitations of a team, newest first, for its captain."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(responses=_INVITATIONS)
    def get(self, request: Request, team: str) -> Response:
        """Return all of them."""
        entry = entry_of(request, team)
        check_captain(request, entry)
        return whole_list(InvitationSerializer(_related(open_invitations(entry.team)), many=True).data)

    @extend_schema(
        operation_id="invite",
        description="Invite a person by user name, as the captain. The answer is the same without such an account.",
        request=InviteSerializer,
        responses={201: InvitationSerializer},
    )
    def post(self, request: Request, team: str) -> Response:
        """Invite a person and return the invitation."""
        entry = entry_of(request, team)
        by = check_captain(request, entry)
        made = team_invitations.invite(entry=entry, by=by, **values_of(request, InviteSerializer))
        return Response(InvitationSerializer(made).data, status=status.HTTP_201_CREATED)


class WithdrawInvitation(ApiView):
    """Withdraw an open invitation of a team, as its captain."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(request=None, responses=InvitationSerializer)
    def post(self, request: Request, team: str, invitation: int) -> Response:
        """Withdraw the invitation with this number and return it."""
        entry = entry_of(request, team)
        by = check_captain(request, entry)
        found = one_of(entry.team.invitations.all(), "invitation", pk=invitation)
        team_invitations.withdraw_invitation(invitation=found, by=by)
        return Response(InvitationSerializer(found).data)


class ListOwnInvitations(WholeListView):
    """The invitations that you can accept now, newest first."""

    @extend_schema(responses=_INVITATIONS)
    def get(self, request: Request) -> Response:
        """Return all of them."""
        return whole_list(InvitationSerializer(invitations_of(signed_in(request)), many=True).data)


class InvitationAnswer(ApiView):
    """The answer of a person to an invitation of theirs."""

    scope_of_changes = AccessToken.Scope.TEAM
    act: ClassVar[Callable[..., object]]
    """The service. It gets the `invitation`, and the person as `by`."""

    @extend_schema(request=None, responses=InvitationSerializer)
    def post(self, request: Request, invitation: int) -> Response:
        """Answer the invitation with this number and return it."""
        by = signed_in(request)
        own = Invitation.objects.filter(user=by, team__entry__competition__in=visible_competitions(by))
        found = one_of(_related(own), "invitation", pk=invitation)
        self.act(invitation=found, by=by)
        return Response(InvitationSerializer(found).data)


class AcceptInvitation(InvitationAnswer):
    """Accept an invitation of yours, and become a member of the team."""

    act = staticmethod(team_invitations.accept)


class DeclineInvitation(InvitationAnswer):
    """Decline an invitation of yours."""

    act = staticmethod(team_invitations.decline)


class ShowTerms(ApiView):
    """The terms of a competition that teams accept, and whether yours has. 404 if there is nothing to accept."""

    @extend_schema(responses=TermsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the terms in force."""
        competition = competition_of(request, slug)
        terms = terms_in_force(competition)
        if terms is None:
            raise NotFound(f"{competition} has no terms")
        own = Entry.objects.filter(competition=competition, team__in=teams_of(request.user)).first()
        return Response(TermsSerializer(terms, context={"entry": own}).data)


class AcceptTerms(ApiView):
    """Accept the terms of its competition for a team, as its captain, by their digest. Safe to repeat."""

    scope_of_changes = AccessToken.Scope.TEAM

    @extend_schema(request=AcceptTermsSerializer, responses=TermsSerializer)
    def post(self, request: Request, team: str) -> Response:
        """Accept the terms and return them."""
        entry = entry_of(request, team)
        by = check_captain(request, entry)
        accepted = accept_terms(entry=entry, digest=values_of(request, AcceptTermsSerializer)["terms"], by=by)
        if accepted is None:
            raise NotFound(f"{entry.competition} has no terms")
        return Response(TermsSerializer(accepted.terms, context={"entry": entry}).data)


def _shown(entry: Entry) -> object:
    return TeamSerializer(_with_members(Entry.objects.filter(pk=entry.pk)).get()).data


def _with_members(entries: QuerySet[Entry]) -> QuerySet[Entry]:
    return entries.select_related("team", "competition").prefetch_related("team__memberships__user")


def _related(found: QuerySet[Invitation]) -> QuerySet[Invitation]:
    return found.select_related("team__entry__competition", "invited_by")
