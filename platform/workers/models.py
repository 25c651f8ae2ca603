"""Workers, their hosts, and the time that they spent for teams."""

from __future__ import annotations

from django.db import models
from django.db.models import Q, UniqueConstraint

from competitions.models import Entry
from core.time_format import in_words


class Priority(models.IntegerChoices):
    """Which work goes first: nothing of one priority is claimed while something of an earlier one waits."""

    ROUND = 0, "round"
    BOARD = 1, "leaderboard"
    REPEAT = 2, "repeat"


class Worker(models.Model):
    """A process that plays, as last reported."""

    class Class(models.TextChoices):
        CPU = "cpu", "CPU"
        GPU = "gpu", "GPU"

    name = models.CharField(max_length=120, unique=True)
    """Host, worker and slot, e.g. "arena-1/play/0"."""
    worker_class = models.CharField(max_length=3, choices=Class.choices)
    device = models.CharField(max_length=20, blank=True)
    calibration = models.FloatField(default=1.0)
    started_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    clock_skew = models.FloatField(default=0.0)
    """Seconds by which its host's clock was ahead of the database's when it was last seen; negative: behind."""

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Host(models.Model):
    """A worker's host that has failed a check at some time, by the worker's name."""

    name = models.CharField(max_length=120, unique=True)
    out_since = models.DateTimeField(null=True, blank=True)
    """Since then it takes no work, because a check failed; None while it is in service."""
    problem = models.TextField(blank=True)
    """Problem that the last failed check found."""
    check_due_at = models.DateTimeField(null=True, blank=True)
    """Time of its next check."""
    failed_checks = models.PositiveIntegerField(default=0)
    """Number of failed checks in a row."""

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class WorkerTime(models.Model):
    """Seconds that the workers of a role spent on leaderboard work of one team that ended in one hour.

    `entry` is None for work of no team.
    """

    role = models.CharField(max_length=10)
    """The name of the role: workers that play and builders have separate shares."""
    entry = models.ForeignKey(Entry, null=True, blank=True, on_delete=models.PROTECT, related_name="worker_times")
    hour = models.DateTimeField()
    seconds = models.FloatField(default=0.0)

    class Meta:
        ordering = ["-hour", "entry"]
        constraints = [
            UniqueConstraint(fields=["entry", "role", "hour"], name="worker_time_once_per_hour"),
            UniqueConstraint(
                fields=["role", "hour"], condition=Q(entry=None), name="worker_time_of_nobody_once_per_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"worker time ({self.role}) of {self.entry or 'no team'} from {in_words(self.hour)}"
