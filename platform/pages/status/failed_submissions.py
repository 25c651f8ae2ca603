"""Submissions that platform errors ended, and the slots that they used: the rows behind incidents."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from core import clock
from submissions.models import Submission

SHOWN = timedelta(days=7)
"""How long a submission that ended by platform errors is an incident, unless its team submits again."""


def failed_submissions() -> QuerySet[Submission]:
    """Return the submissions that platform errors ended lately, unless their teams submitted again."""
    newer = Submission.objects.filter(repository=OuterRef("repository"), pk__gt=OuterRef("pk"))
    ended = Q(state=Submission.State.REJECTED, cause=Submission.Cause.PLATFORM, state_since__gt=clock.now() - SHOWN)
    return Submission.objects.filter(ended, ~Exists(newer))
