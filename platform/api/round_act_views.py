"""What organisers do with rounds: the acts of the admin, by the same services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken, User
from api.access import check_role, competition_of, one_of
from api.base_views import ApiView, WholeListView
from api.errors import WRONG_STATE
from api.objection_views import ObjectionSerializer, shown_objection
from api.pagination import list_of, whole_list
from api.request_bodies import (
    BodySerializer,
    ExtendSerializer,
    PartSerializer,
    PublishSerializer,
    ReasonSerializer,
    values_of,
)
from api.round_views import ShownRoundSerializer, shown_round
from api.serializers import ProblemSerializer
from competitions.freeze_windows import end_window, extend_window, open_window
from core.problem_details import CONTENT_TYPE, problem_details
from core.roles import Right
from rounds.formats import format_of
from rounds.models import Round
from rounds.objections.closing import answer
from rounds.planning.freeze import freeze
from rounds.publishing import preview
from rounds.publishing.publication import publish
from rounds.release import released_parts
from rounds.running import lifecycle
from rounds.running.transitions import require_state
from rounds.selectors import standings

CONFLICT = {(status.HTTP_409_CONFLICT, CONTENT_TYPE): ProblemSerializer}
CONFLICTING = OpenApiExample(
    "somebody else was faster",
    value={
        **problem_details(
            status.HTTP_409_CONFLICT,
            WRONG_STATE,
            "Round 1 is playing and cannot be started",
            "wait until it is scored, or pause it",
        ),
        "state": "playing",
    },
    response_only=True,
    media_type=CONTENT_TYPE,
    status_codes=["409"],
)
"""What a repeated request is answered with."""


class PlaceInPreviewSerializer(serializers.Serializer[Any]):
    """An entry of a scored round: its rank on the leaderboard and its place in the round.

    `gone` is withdrawn, disqualified, inconsistent or "". `warning` is what to do before the publication, "" for most.
    """

    team = serializers.CharField()
    title = serializers.CharField()
    rank_before = serializers.IntegerField(allow_null=True)
    place = serializers.IntegerField(allow_null=True)
    why = serializers.CharField()
    gone = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField())
    warning = serializers.CharField()


class TrackPreviewSerializer(serializers.Serializer[Any]):
    """What publishing changes in a track. The pools are titles of players, best first, in formats that have pools."""

    track = serializers.CharField()
    rows = PlaceInPreviewSerializer(many=True)
    pool_before = serializers.ListField(child=serializers.CharField())
    pool_after = serializers.ListField(child=serializers.CharField())


class PreviewSerializer(serializers.Serializer[Any]):
    """What publishing a scored round changes. Send its `digest` to publish exactly that."""

    digest = serializers.CharField()
    effect = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())
    tracks = TrackPreviewSerializer(many=True)


class RoundEntrySerializer(serializers.Serializer[Any]):
    """An entry of a frozen round: `seed` is its place in the initial seeding, `place` null before the score."""

    track = serializers.CharField()
    team = serializers.CharField(source="row.team_slug")
    submission = serializers.IntegerField(source="row.submission")
    title = serializers.CharField(source="row.title")
    seed = serializers.IntegerField(source="row.prior")
    place = serializers.IntegerField(source="row.place", allow_null=True)
    eligible = serializers.BooleanField(source="row.eligible")
    ineligible_because = serializers.CharField(source="row.ineligible_because")
    gone = serializers.CharField(source="row.gone")


class ShowPreview(ApiView):
    """What publishing a scored round would change, for organisers and judges."""

    @extend_schema(responses={200: PreviewSerializer, **CONFLICT})
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return it with its digest."""
        round_, _ = _round_for(request, slug, number, Right.SEE_SECRETS)
        require_state(round_, Round.State.SCORED, act="previewed")
        views = format_of(round_).preview(round_)
        shown = {
            "digest": preview.preview_digest(round_, views),
            "effect": format_of(round_).publication_effect,
            "warnings": preview.warnings(views),
            "tracks": [
                {
                    "track": view.track.name,
                    "rows": view.rows,
                    "pool_before": [player.title for player in view.pool_before],
                    "pool_after": [player.title for player in view.pool_after],
                }
                for view in views
            ],
        }
        return Response(PreviewSerializer(shown).data)


class ListEntries(WholeListView):
    """The entries of a round from its freeze on, by track, best seed first, for organisers and judges."""

    @extend_schema(responses=list_of(RoundEntrySerializer))
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return all of them; none before the freeze."""
        round_, _ = _round_for(request, slug, number, Right.SEE_SECRETS)
        rows = [
            {"track": track, "row": row}
            for track, entries in standings(round_).items()
            for row in sorted(entries, key=lambda each: each.prior)
        ]
        return whole_list(RoundEntrySerializer(rows, many=True).data)


class RoundAct(ApiView):
    """An act of organisers on a round."""

    scope_of_changes = AccessToken.Scope.ORGANISE
    body: ClassVar[type[BodySerializer]] = ReasonSerializer
    act: ClassVar[Callable[..., object]]
    """The service. It gets `round_`, the person as `by`, and the values of the body. It may raise `Refusal`."""

    @extend_schema(responses={200: ShownRoundSerializer, **CONFLICT}, examples=[CONFLICTING])
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Act, and return the round as it is afterwards."""
        round_, by = _round_for(request, slug, number, Right.RUN)
        self.act(round_=round_, by=by, **values_of(request, self.body))
        return shown_round(request, slug, number)


class LongRoundAct(RoundAct):
    """An act after which workers play: the answer names where the round shows how far it is."""

    @extend_schema(responses={202: ShownRoundSerializer, **CONFLICT}, examples=[CONFLICTING])
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Act, and return the round as it is afterwards."""
        response = super().post(request, slug, number)
        response.status_code = status.HTTP_202_ACCEPTED
        response.headers["Location"] = request.build_absolute_uri(request.path.rpartition("/")[0])
        return response


class FreezeRound(RoundAct):
    """Freeze a planned round whose window has begun: the entries and the rules are fixed from now on."""

    act = staticmethod(freeze)


class StartRound(LongRoundAct):
    """Start a frozen round. It plays on free workers until it is scored."""

    act = staticmethod(lifecycle.start)


class PauseRound(RoundAct):
    """Pause a round that plays. Nothing new starts; what is running finishes and is kept."""

    act = staticmethod(lifecycle.pause)


class ResumeRound(LongRoundAct):
    """Resume a paused round. It continues where it was."""

    act = staticmethod(lifecycle.resume)


class CancelRound(RoundAct):
    """Cancel an unpublished round permanently, with its freeze window. Teams can read the reason."""

    act = staticmethod(lifecycle.cancel)


class PublishRound(RoundAct):
    """Publish a scored round exactly as its preview showed it. The result does not change afterwards."""

    body = PublishSerializer

    @staticmethod
    def act(preview: str, **values: Any) -> None:
        """Publish it as that preview showed it."""
        publish(previewed=preview, **values)


class ReleasePart(RoundAct):
    """Release a part of a published round. It becomes public on the round's page; teams can read the reason."""

    body = PartSerializer
    act = staticmethod(released_parts.release)


class WithdrawPart(RoundAct):
    """Withdraw a released part of a round. It is no longer served, but copies made before may remain."""

    body = PartSerializer
    act = staticmethod(released_parts.withdraw_part)


class WindowAct(RoundAct):
    """An act on the freeze window of a round."""

    change: ClassVar[Callable[..., object]]
    """The service, which gets the `window` in place of the round."""

    def act(self, round_: Round, **values: Any) -> None:
        """Change the window."""
        self.change(window=round_.window, **values)


class OpenWindow(WindowAct):
    """Let the freeze window of a planned round begin now. It keeps its length."""

    change = staticmethod(open_window)


class ExtendWindow(WindowAct):
    """Let the freeze window of a round end later."""

    body = ExtendSerializer
    change = staticmethod(extend_window)


class EndWindow(WindowAct):
    """End the freeze window of a round now: submissions are accepted again."""

    change = staticmethod(end_window)


class ObjectionAnswer(ApiView):
    """The answer of the organisers to an objection."""

    scope_of_changes = AccessToken.Scope.ORGANISE
    body: ClassVar[type[BodySerializer]] = ReasonSerializer
    upheld: ClassVar[bool]

    @extend_schema(responses={200: ObjectionSerializer, **CONFLICT}, examples=[CONFLICTING])
    def post(self, request: Request, slug: str, number: int, objection: int) -> Response:
        """Answer the objection, and return it."""
        round_, by = _round_for(request, slug, number, Right.JUDGE)
        row = one_of(round_.objections.select_related("round__competition"), "objection", pk=objection)
        answer(objection=row, upheld=self.upheld, by=by, reason=values_of(request, self.body)["reason"])
        return Response(shown_objection(round_, objection))


class UpholdObjection(ObjectionAnswer):
    """Uphold an open objection. The reason is the answer, public and permanent; the result does not change by it."""

    upheld = True


class RejectObjection(ObjectionAnswer):
    """Reject an open objection. The reason is the answer, public and permanent."""

    upheld = False


def _round_for(request: Request, slug: str, number: int, right: Right) -> tuple[Round, User]:
    """Return a round and the user, whose role allows something in its competition. Raise 401, 403 or 404 otherwise."""
    competition = competition_of(request, slug)
    user = check_role(request, competition, right)
    rounds = competition.rounds.select_related("competition", "window__competition", "sample_set", "rules")
    return one_of(rounds, "round", number=number), user
