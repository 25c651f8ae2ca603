"""The repository of a team for one track, and what the pushes of a team cost."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models import UniqueConstraint

from accounts.models import Team
from competitions.models import Entry, Track


class Repository(models.Model):
    """A bare git repository on this host. Quota decisions lock its row."""

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="repositories")
    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="repositories")
    created_at = models.DateTimeField()
    pushed_at = models.DateTimeField(null=True, blank=True)
    public_since = models.DateTimeField(null=True, blank=True)
    """From then on everybody may clone it; None while only its team and the organisers may."""
    size_bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "repositories"
        ordering = ["pk"]
        constraints = [UniqueConstraint(fields=["entry", "track"], name="one_repository_per_entry_and_track")]

    def __str__(self) -> str:
        return f"{self.entry.team.slug}/{self.track.name}"

    @property
    def path(self) -> Path:
        """The folder of the repository. Named by primary key, so that a renamed team keeps it."""
        folder: Path = settings.REPOSITORIES
        return folder / f"{self.pk}.git"


class PushCost(models.Model):
    """The processor seconds that pushes of a team cost the web hosts: all that ended in the minute before `ended_at`.

    A push in progress, and one that ended with a platform error and is not charged, has a row of its own; `seconds` is
    what a push in progress may cost.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="push_costs")
    begun_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField()
    platform_error = models.BooleanField(default=False)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"pushes {self.pk} of {self.team}"
