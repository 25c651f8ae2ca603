"""What webhooks deliver: rows as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db.models import Model

from competitions.models import Announcement
from rounds.models import Round
from submissions.models import Submission
from webhooks.extension_points import shown_object


@shown_object.add
def shown(row: Model) -> Mapping[str, Any] | None:
    """Return a submission as its team and the organisers see it, a round or an announcement as everyone does."""
    from api.round_views import round_values  # noqa: PLC0415 - only web servers and those that deliver need it
    from api.serializers import AnnouncementSerializer, WholeSubmissionSerializer  # noqa: PLC0415

    if isinstance(row, Submission):
        return WholeSubmissionSerializer(row).data
    if isinstance(row, Round):
        return round_values(row, lambda path: settings.SITE_ADDRESS + path)
    return AnnouncementSerializer(row).data if isinstance(row, Announcement) else None
