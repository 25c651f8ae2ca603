"""Challenges as work of the workers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from formats.query.challenges import play_challenge
from formats.query.challenges.models import Challenge
from submissions.models import Submission
from workers.models import Worker
from workers.sandboxes import Sandbox
from workers.single_item_work import RowWork

_TAKE_PART = Q(submission__state=Submission.State.READY, submission__disqualified_at=None) & (
    Q(opponent=None) | Q(opponent__state=Submission.State.READY, opponent__disqualified_at=None)
)
"""Challenges both of whose players take part in the competition."""


class ChallengeWork(RowWork[Challenge]):
    """One match on public samples, with a priority below everything that counts.

    It is played whatever becomes of the release of its opponent; while its submission is withdrawn or disqualified, or
    its opponent is, it is not.
    """

    name = "challenges"
    tables = (Challenge,)

    def playable(self) -> QuerySet[Challenge]:
        return Challenge.objects.filter(_TAKE_PART, rules__competition__archived_at=None).select_related(
            "submission__player__repository__entry", "submission__repository__track", "rules__competition",
            "sample_set", "opponent__player__repository__entry",
        )  # fmt: skip

    def needless(self) -> QuerySet[Challenge]:
        """Return those whose players do not both take part."""
        return Challenge.objects.exclude(_TAKE_PART)

    def waiting_for(self, worker: Worker, now: datetime) -> QuerySet[Challenge]:
        """Return also those with a player that needs a GPU to workers that have one."""
        waiting = self.waiting(now)
        return waiting if worker.device else waiting.filter(needs_gpu=False)

    def longest(self, claim: Challenge) -> timedelta:
        return play_challenge.longest(claim)

    def play(self, item: Challenge, sandbox: Sandbox) -> Mapping[str, Any]:
        return play_challenge.played(item, sandbox)

    def log_ids(self, claim: Challenge) -> dict[str, int]:
        return {"challenge": claim.pk}

    def traced(self, claim: Challenge) -> list[int]:
        return [claim.submission_id]

    def fault_columns(self, fault: str) -> dict[str, Any]:
        return {"fault": fault}


challenges = ChallengeWork()
