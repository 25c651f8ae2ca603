"""The event log (who changed what, when and why; rows are only added), the identity of the site, and its changes."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from core.event_sentences import sentence
from core.time_format import to_second


class Event(models.Model):
    """An entry of the event log. `subject` names a row, e.g. "submission:12"; `by` is None for the site itself.

    `scope` names the row that decides who sees the event, e.g. "competition:3"; if empty, only superusers do.
    """

    at = models.DateTimeField(db_index=True)
    verb = models.CharField(max_length=60, db_index=True)
    subject = models.CharField(max_length=80, db_index=True)
    scope = models.CharField(max_length=80, blank=True, db_index=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(blank=True)
    data = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{to_second(self.at)} {self.verb} {self.subject}"

    def save(self, *args: Any, **options: Any) -> None:
        if self.pk is not None:
            raise TypeError("events cannot be changed")
        super().save(*args, **options)

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        raise TypeError("events cannot be deleted")

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return sentence(self)


class SiteIdentity(models.Model):
    """The identifier of this site; one row. The state folder has the same (`core.site_identity`)."""

    value = models.CharField(max_length=32)
    made_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "site identities"

    def __str__(self) -> str:
        return f"site {self.value}"


class TableChange(models.Model):
    """A change of a table, written by a trigger in the transaction that changed it (`core.table_versions`)."""

    table = models.CharField(max_length=63)
    amount = models.BigIntegerField()
    """A random number; those of a table add up to its version."""

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"change of {self.table}"
