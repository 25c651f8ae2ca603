"""Submissions in the API: lists, states, logs, evaluations, quotas, and what teams do."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import check_inside, check_member, own_repository, own_track, submission_of
from api.base_views import ApiView, ListView, WholeListView
from api.formats import api_formats
from api.pagination import NewestFirst, WholeListSerializer, whole_list
from api.query_parameters import whole_number
from api.request_bodies import CommitSerializer, values_of
from api.serializers import (
    AllowanceSerializer,
    ListedSubmissionSerializer,
    LogSerializer,
    OwnListedSubmissionSerializer,
    ShownSubmissionSerializer,
    SubmissionSerializer,
    WholeSubmissionSerializer,
    shape_of_each_format,
)
from competitions.board_freezes import sees_scores_of
from competitions.permissions import sees_everything_of, visible_competitions
from submissions import services
from submissions.models import Build, Submission
from submissions.quota import allowance_for
from submissions.selectors import log_lines

_FILTERS = {
    "competition": "repository__entry__competition__slug",
    "team": "repository__entry__team__slug",
    "track": "repository__track__name",
    "state": "state",
}
"""The parameters of a list of submissions, and what each one compares."""


class ListSubmissions(ListView[Submission]):
    """The submissions to the competitions that you may see, newest first, without hidden ones.

    The parameters filter them.
    """

    serializer_class = ListedSubmissionSerializer

    def get_queryset(self) -> QuerySet[Submission]:
        """Return those that fit the parameters of the address."""
        values = self.request.query_params
        chosen = {path: values[name] for name, path in _FILTERS.items() if values.get(name)}
        if chosen.get("state", Submission.State.READY) not in Submission.State.values:
            raise ValidationError({"state": f"use one of {', '.join(Submission.State.values)}"})
        visible = visible_competitions(self.request.user)
        found = Submission.objects.filter(hidden_at=None, repository__entry__competition__in=visible, **chosen)
        return found.select_related("repository__entry__competition", "repository__entry__team", "repository__track")

    @extend_schema(
        parameters=[
            OpenApiParameter(name, str, enum=Submission.State.values if name == "state" else None) for name in _FILTERS
        ]
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return a page of them."""
        return super().get(request, *args, **kwargs)


class ShowSubmission(ApiView):
    """A submission. Everyone sees how it scored; the rest is for its team and the organisers."""

    @extend_schema(responses=ShownSubmissionSerializer)
    def get(self, request: Request, number: int) -> Response:
        """Return the submission with `number`."""
        return Response(_shown(request, submission_of(request, number)))


class ShowLog(ApiView):
    """Lines of the log of a build and its smoke test, for the team and the organisers."""

    table = "lines"

    @extend_schema(
        parameters=[
            OpenApiParameter("after", int, description="The number of the last line that you have; 0 for none."),
            OpenApiParameter("attempt", int, description="The attempt to build; the newest one without it."),
        ],
        responses=LogSerializer,
    )
    def get(self, request: Request, number: int) -> Response:
        """Return at most 1,000 lines."""
        submission = submission_of(request, number)
        check_inside(request, submission.repository.entry)
        after = whole_number(request, "after")
        build = _build_of(request, submission)
        if build is None:
            over = submission.state in {Submission.State.REJECTED, Submission.State.WITHDRAWN}
            return Response({"attempt": None, "lines": [], "last": after, "over": over})
        page = log_lines(build, after)
        # without an attempt, the next one follows as long as the submission is not ready or rejected
        over = page.over and ("attempt" in request.query_params or submission.state not in Submission.UNDER_WAY)
        data = {"attempt": build.attempt, "lines": page.lines, "last": page.last, "over": over}
        return Response(LogSerializer(data).data)


@extend_schema_field(
    PolymorphicProxySerializer(
        "AnyEvaluation", lambda: shape_of_each_format("evaluation"), resource_type_field_name=None, many=True
    )
)
class EvaluationsField(serializers.JSONField):
    """Evaluations, with the fields of their format."""


class EvaluationListSerializer(WholeListSerializer):
    """The evaluations of a submission."""

    results = EvaluationsField()


class ListEvaluations(WholeListView):
    """What a submission was measured on, newest first. Their fields depend on the format of the competition."""

    @extend_schema(responses=EvaluationListSerializer)
    def get(self, request: Request, number: int) -> Response:
        """Return all of them that the reader sees."""
        submission = submission_of(request, number)
        entry = submission.repository.entry
        scores = sees_scores_of(request.user, entry)
        return whole_list(api_formats.of(entry.competition).evaluations(submission, inside=scores))


class WithdrawSubmission(ApiView):
    """Withdraw a submission permanently. Its slot is refunded if its build has not begun."""

    @extend_schema(request=None, responses=ShownSubmissionSerializer)
    def post(self, request: Request, number: int) -> Response:
        """Withdraw the submission with `number` and return it."""
        submission = submission_of(request, number)
        by = check_member(request, submission.repository.entry)
        services.withdraw(submission=submission, by=by)
        return Response(_shown(request, submission_of(request, number)))


class ChooseSubmission(ApiView):
    """Let a submission count instead of the newest one of the team, where the rules allow it."""

    @extend_schema(request=None, responses=ShownSubmissionSerializer)
    def post(self, request: Request, number: int) -> Response:
        """Choose the submission with `number` and return it."""
        submission = submission_of(request, number)
        by = check_member(request, submission.repository.entry)
        api_formats.of(submission.repository.entry.competition).choose(submission, by)
        return Response(_shown(request, submission_of(request, number)))


class ChooseNewest(ApiView):
    """Let the newest submission of a repository count again, after the team chose another one."""

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, team: str, track_name: str) -> Response:
        """End the choice of the team."""
        repository = own_repository(request, team, track_name)
        by = check_member(request, repository.entry)
        api_formats.of(repository.entry.competition).choose_newest(repository, by)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ShowQuota(ApiView):
    """The quota of a team in a track, for its members."""

    @extend_schema(responses=AllowanceSerializer)
    def get(self, request: Request, team: str, track_name: str) -> Response:
        """Return the quota."""
        return Response(AllowanceSerializer(allowance_for(*own_track(request, team, track_name))).data)


class OwnSubmissions(ListView[Submission]):
    """The submissions of a repository, newest first, with commit and tag, for the members of its team."""

    serializer_class: type[serializers.ModelSerializer[Submission]] = OwnListedSubmissionSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[Submission]:
        """Return those of the repository that the address names."""
        entry, track = own_track(self.request, self.kwargs["team"], self.kwargs["track_name"])
        found = Submission.objects.filter(repository__entry=entry, repository__track=track).select_related(
            "submitted_by"
        )
        return found.select_related("repository__entry__competition", "repository__entry__team", "repository__track")

    @extend_schema(
        operation_id="submit",
        description="Submit a commit that was pushed before, with the same checks as a push.",
        request=CommitSerializer,
        responses={201: WholeSubmissionSerializer},
    )
    def post(self, request: Request, team: str, track_name: str) -> Response:
        """Submit a commit that was pushed before, with the same checks as a push."""
        repository = own_repository(request, team, track_name)
        by = check_member(request, repository.entry)
        submission = services.submit(repository=repository, by=by, **values_of(request, CommitSerializer))
        return Response(_shown(request, submission_of(request, submission.pk)), status=status.HTTP_201_CREATED)


def _shown(request: Request, submission: Submission) -> object:
    entry = submission.repository.entry
    inside = sees_everything_of(request.user, entry)
    serializer = WholeSubmissionSerializer if inside else SubmissionSerializer
    return serializer(submission, context={"scores": sees_scores_of(request.user, entry, inside=inside)}).data


def _build_of(request: Request, submission: Submission) -> Build | None:
    if "attempt" not in request.query_params:
        return submission.builds.last()
    build = submission.builds.filter(attempt=min(whole_number(request, "attempt"), 32_767)).first()
    if build is None:
        raise NotFound("there is no such attempt")
    return build
