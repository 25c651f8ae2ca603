"""Workers, their hosts, and the time that they spent for teams."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q, UniqueConstraint

from competitions.models import Entry
from core import clock
from core.signed_keys import NONCE_LENGTH, new_nonce
from core.time_format import in_words


class Priority(models.IntegerChoices):
    """Which work goes first: nothing of one priority is claimed while something of an earlier one waits."""

    ROUND = 0, "round"
    BOARD = 1, "leaderboard"
    REPEAT = 2, "repeat"
    UNRANKED = 3, "unranked"


class Worker(models.Model):
    """A process that plays, as last reported."""

    class Class(models.TextChoices):
        CPU = "cpu", "CPU"
        GPU = "gpu", "GPU"

    HAS_TABLE_VERSION: ClassVar = False
    """Heartbeats change its rows all the time, and no page that readers share shows them: see `core.table_versions`."""

    name = models.CharField(max_length=120, unique=True)
    """Host, worker and slot, e.g. "arena-1/play/0"."""
    worker_class = models.CharField(max_length=3, choices=Class.choices)
    device = models.CharField(max_length=20, blank=True)
    calibration = models.FloatField(default=1.0)
    """The factor of the time limits of players on its processor."""
    device_calibration = models.FloatField(null=True, blank=True)
    """The factor of the time limits of players with `gpu = true`; None without a GPU that could be measured."""
    started_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, blank=True)
    """When its process was stopped in order, as a deployment or the end of a cluster's job does; None while it works,
    and if it was lost."""
    clock_skew = models.FloatField(default=0.0)
    """Seconds by which its host's clock was ahead of the database's when it was last seen; negative: behind."""

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def factor(self, *, gpu: bool) -> float:
        """Return the factor of the time limits of a player, with `gpu = true` or without."""
        return self.device_calibration if gpu and self.device_calibration is not None else self.calibration


class Host(models.Model):
    """A worker's host that has failed a check at some time, or differed from the others, by the worker's name."""

    name = models.CharField(max_length=120, unique=True)
    out_since = models.DateTimeField(null=True, blank=True)
    """Since then it takes no work, because a check failed or its results differ; None while it is in service."""
    problem = models.TextField(blank=True)
    """Problem that the last failed check found."""
    check_due_at = models.DateTimeField(null=True, blank=True)
    """Time of its next check; None while it is in service, or drained."""
    failed_checks = models.PositiveIntegerField(default=0)
    """Number of failed checks in a row."""
    compared_from = models.DateTimeField(null=True, blank=True)
    """Earlier comparisons do not count: an operator has put it back into service since then."""
    doubtful_until = models.DateTimeField(null=True, blank=True)
    """What it claimed until then is to be rejudged; None if its results never differed beyond chance."""

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_drained(self) -> bool:
        """True while it takes no work until an operator puts it back into service: no check does."""
        return self.out_since is not None and self.check_due_at is None

    @property
    def differs(self) -> bool:
        """True while it is drained because its results differ: an operator may drain a host for any reason."""
        if self.out_since is None or self.doubtful_until is None:
            return False
        return self.is_drained and self.out_since <= self.doubtful_until

    @property
    def is_check_due(self) -> bool:
        """True while it is out of service and the next worker on it that is asked for work checks it."""
        if self.out_since is None or self.check_due_at is None:
            return False
        return self.check_due_at <= clock.database_now()


class HostComparison(models.Model):
    """The results of one match, or of one repeated run, that one host gave and another one repeated.

    See `workers.differing_host_statistics`.
    """

    at = models.DateTimeField()
    subject = models.CharField(max_length=80)
    """What was played: "match 12"."""
    player = models.CharField(max_length=80)
    """The digest of the model or defence."""
    entry = models.ForeignKey(Entry, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """Its team; None for a bundled one."""
    played_on = models.CharField(max_length=120)
    repeated_on = models.CharField(max_length=120)
    compared = models.PositiveIntegerField()
    unequal = models.PositiveIntegerField()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["at"], name="comparisons_by_time")]

    def __str__(self) -> str:
        return f"{self.subject}: {self.played_on} and {self.repeated_on}"

    @property
    def hosts(self) -> frozenset[str]:
        """The two hosts."""
        return frozenset({self.played_on, self.repeated_on})


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


class HostCredential(models.Model):
    """With it a worker host without the site's folder joins the site, and then reads the repositories' commits.

    The key with which it joins is signed, so its page can show it until it is used. Of the token that the host gets for
    it only a hash is stored: it has 256 random bits.
    """

    host = models.CharField(max_length=63)
    """The name of the host (GAUNTLET_WORKER_NAME)."""
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField()
    nonce = models.CharField(max_length=NONCE_LENGTH, blank=True, default=new_nonce, editable=False)
    """Signed with its number, which another row may have after a restore; "" in rows of earlier versions."""
    expires_at = models.DateTimeField()
    """Until then the host may join."""
    joined_at = models.DateTimeField(null=True, blank=True)
    digest = models.CharField(max_length=64, blank=True, editable=False)
    """Of its token; "" until it joins."""
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            UniqueConstraint(fields=["host"], condition=Q(revoked_at=None), name="one_credential_of_a_host"),
            UniqueConstraint(fields=["digest"], condition=~Q(digest=""), name="host_token_once"),
        ]

    def __str__(self) -> str:
        return f"the credential of {self.host}"
