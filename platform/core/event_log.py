"""Writing to the event log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Model
from django.dispatch import Signal

from core import clock
from core.extension_point import ExtensionPoint
from core.models import Event

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser


scope_of: ExtensionPoint[[Model], str] = ExtensionPoint()
"""The name of the row that decides who sees the events of a row, such as "competition:3"; empty without one."""


recorded = Signal()
"""Sent with the `subject` and the `event`, in the transaction of `record`, to tell others of what happened.

What decides is in columns: a receiver takes nothing from the event but that it happened, and when.
"""


def record(verb: str, subject: Model, *, by: AbstractBaseUser | None = None, reason: str = "", **data: Any) -> Event:
    """Record that `by` (None: the site) did `verb` to `subject`; `data` contains JSON values."""
    event = Event.objects.create(
        at=clock.now(),
        verb=verb,
        subject=name_of(subject),
        scope=next(filter(None, scope_of.answers(subject)), ""),
        by_id=by.pk if by else None,
        reason=reason,
        data=data,
    )
    recorded.send(type(subject), subject=subject, event=event)
    return event


def name_of(subject: Model) -> str:
    """Return the name of a row in the log: "submission:12"."""
    return f"{subject._meta.model_name}:{subject.pk}"
