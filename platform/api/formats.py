"""What of the API differs by the format of a competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.models import Track
from core.parts_by_format import ByFormat
from rounds.models import Round
from submissions.models import Submission


@dataclass(frozen=True)
class RoundResult:
    """What a published round shows, as values for JSON: the places by track, best first, and the warnings."""

    standings: Mapping[str, Collection[Any]]
    warnings: Collection[Any] = ()


class ApiFormat(Protocol):
    """What the API answers of competitions of a format. All values are plain ones for JSON."""

    @property
    def submission_fields(self) -> Sequence[str]:
        """The names of the fields that say how a submission scored, or how far its evaluation is.

        Every submission of the site has them; they are null for those of other formats.
        """

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return the `submission_fields` of a submission, as the public sees them, or its team and the organisers."""

    def leaderboard(self, track: Track, user: User | AnonymousUser, page: str) -> Mapping[str, Any]:
        """Return the requested page of a track's leaderboard as the person sees it, or the nearest one."""

    def round_result(self, published: Round) -> RoundResult:
        """Return the result of a published round."""


api_formats: ByFormat[ApiFormat] = ByFormat()
"""The answers of each format."""
