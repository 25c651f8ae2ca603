"""The content of a delivery."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model

from competitions.models import Announcement
from core.time_format import for_programs
from rounds.models import Round
from submissions.models import Submission
from webhooks.extension_points import shown_object
from webhooks.models import TEST, Delivery

_ROWS: Mapping[str, type[Model]] = {"submission": Submission, "round": Round, "announcement": Announcement}


def subject_of(delivery: Delivery) -> Model | None:
    """Return the row that a delivery is about; None for a test, and if the row is gone."""
    name, _, key = delivery.subject.partition(":")
    return _ROWS[name]._default_manager.filter(pk=key).first() if name else None


def body_of(delivery: Delivery) -> str | None:
    """Return the JSON of a delivery; None if its receiver may not see (any more) what it is about."""
    webhook = delivery.webhook
    if webhook.team is not None and not webhook.competition.public:
        return None
    shown: Mapping[str, Any] | None = None
    if delivery.event != TEST:
        subject = subject_of(delivery)
        shown = next(filter(None, shown_object.answers(subject)), None) if subject is not None else None
        if shown is None:
            return None
    values = {
        "id": str(delivery.key),
        "event": delivery.event,
        "time": for_programs(delivery.at),
        "site": settings.SITE_ADDRESS,
        "competition": webhook.competition.slug,
        "team": webhook.team.slug if webhook.team else None,
        "object": shown,
    }
    return json.dumps(values, cls=DjangoJSONEncoder, ensure_ascii=False)
