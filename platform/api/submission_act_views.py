"""What organisers and judges do with submissions, by the services of the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import AccessToken, User
from api.access import check_role, submission_of
from api.base_views import ApiView
from api.formats import api_formats
from api.request_bodies import BodySerializer, ReasonSerializer, values_of
from api.round_act_views import CONFLICT
from api.serializers import WholeSubmissionSerializer
from competitions.board_freezes import sees_scores_of
from core.roles import Right
from submissions import services
from submissions.models import Submission


class SubmissionAct(ApiView):
    """An act of organisers on a submission."""

    scope_of_changes = AccessToken.Scope.ORGANISE
    body: ClassVar[type[BodySerializer]] = ReasonSerializer
    right: ClassVar[Right] = Right.RUN
    act: ClassVar[Callable[..., object]]
    """The service. It gets the `submission`, the person as `by`, and the `reason`; it may raise `Refusal`."""

    @extend_schema(responses={200: WholeSubmissionSerializer, **CONFLICT})
    def post(self, request: Request, number: int) -> Response:
        """Act, and return the submission as it is afterwards."""
        submission = submission_of(request, number)
        entry = submission.repository.entry
        by = check_role(request, entry.competition, self.right)
        self.act(submission=submission, by=by, reason=values_of(request, self.body)["reason"])
        scores = sees_scores_of(by, entry, inside=True)
        return Response(WholeSubmissionSerializer(submission_of(request, number), context={"scores": scores}).data)


class RetrySubmission(SubmissionAct):
    """Build and check a rejected submission again. The team's quota does not change."""

    right = Right.ANSWER
    act = staticmethod(services.retry)


class RefundSlot(SubmissionAct):
    """Refund the slot of a submission that failed by a platform error and waits for an organiser."""

    right = Right.ANSWER
    act = staticmethod(services.refund_fault)


class ReEvaluateSubmission(SubmissionAct):
    """Measure a submission again, against the current pool, in formats that have evaluations.

    Failed matches are replayed, all others are reused.
    """

    def act(self, submission: Submission, by: User, reason: str) -> None:
        """Begin a new evaluation."""
        api_formats.of(submission.repository.entry.competition).re_evaluate(submission, by, reason)


class DisqualifySubmission(SubmissionAct):
    """Remove a submission from the leaderboard. Its team sees the reason."""

    right = Right.JUDGE
    act = staticmethod(services.disqualify)


class ReinstateSubmission(SubmissionAct):
    """Remove the disqualification of a submission: it counts again."""

    right = Right.JUDGE
    act = staticmethod(services.reinstate)
