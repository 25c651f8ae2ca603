"""Submissions, their quota slots, build attempts, logs and players."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q, UniqueConstraint

from competitions.formats import track_choices
from competitions.models import Competition
from core.time_format import in_words
from repositories.models import Repository
from workers.lease import Leased

HIDDEN_TITLE = "Hidden submission"
"""What everybody reads in place of the title of a submission that organisers have hidden."""


class Player(models.Model):
    """A submission or baseline made ready to run, named by its digest: equal digests are the same player.

    It can be rebuilt anywhere from `repository` and `commit`, or from the bundled `baseline`.
    """

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="players")
    track_name = models.CharField(max_length=16, choices=track_choices)
    digest = models.CharField(max_length=80)
    title = models.CharField(max_length=120)
    """`HIDDEN_TITLE` while one of its submissions is hidden."""
    given_title = models.CharField(max_length=120, blank=True, editable=False)
    """The title in its files while one of its submissions is hidden, otherwise empty."""
    command = models.JSONField()
    gpu = models.BooleanField(default=False)
    image = models.CharField(max_length=200, blank=True)
    """The image's id where Docker built it."""
    repository = models.ForeignKey(Repository, null=True, blank=True, on_delete=models.PROTECT, related_name="players")
    commit = models.CharField(max_length=64, blank=True)
    baseline = models.CharField(max_length=60, blank=True)
    tree_digest = models.CharField(max_length=80, blank=True)
    """The digest of its files where they are not part of the image; otherwise empty."""
    created_at = models.DateTimeField()
    replaced_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Since then another build of the same baseline plays in its place: its image was gone."""

    class Meta:
        constraints = [
            UniqueConstraint(fields=["competition", "track_name", "digest"], name="player_once"),
            models.CheckConstraint(condition=Q(repository__isnull=False) | ~Q(baseline=""), name="player_has_a_source"),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.digest.removeprefix('sha256:')[:12]})"

    @property
    def hidden(self) -> bool:
        """Whether one of its submissions is hidden."""
        return bool(self.given_title)


class Submission(models.Model):
    """One commit of a team's repository, submitted to its track. Never edited, only replaced by a newer one."""

    class State(models.TextChoices):
        RECEIVED = "received", "received"
        BUILDING = "building", "building"
        CHECKING = "checking", "checking"
        READY = "ready", "ready"
        REJECTED = "rejected", "rejected"
        WITHDRAWN = "withdrawn", "withdrawn"

    class Cause(models.TextChoices):
        TEAM = "team", "user error"
        PLATFORM = "platform", "platform error"

    UNDER_WAY = (State.RECEIVED, State.BUILDING, State.CHECKING)

    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="submissions")
    commit = models.CharField(max_length=64)
    tag = models.CharField(max_length=200)
    submitted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    received_at = models.DateTimeField(db_index=True)
    title = models.CharField(max_length=120)
    """What everybody reads: `HIDDEN_TITLE` while it is hidden."""
    licence = models.CharField(max_length=200)

    state = models.CharField(max_length=10, choices=State.choices, default=State.RECEIVED, db_index=True)
    state_since = models.DateTimeField()
    deadline = models.DateTimeField(null=True, blank=True)
    """Deadline of a state that is not final; None in final states."""
    overdue_at = models.DateTimeField(null=True, blank=True)
    """Time at which it last had waited too long for a builder or for its score; None for most."""
    evaluation_fault_at = models.DateTimeField(null=True, blank=True)
    """Time at which work that its score waits for was last given up, also if it was replayed since; None for most.

    A format whose evaluations are rows with an end of their own keeps this there (`void_by_platform`)."""
    player = models.ForeignKey(Player, null=True, blank=True, on_delete=models.PROTECT, related_name="submissions")

    cause = models.CharField(max_length=10, choices=Cause.choices, blank=True)
    reason = models.CharField(max_length=40, blank=True)
    problem = models.TextField(blank=True)
    fix = models.TextField(blank=True)

    disqualified_at = models.DateTimeField(null=True, blank=True)
    disqualified_for = models.TextField(blank=True)
    baseline_at = models.DateTimeField(null=True, blank=True)
    """Time at which an organiser made it a baseline of its track; None for most."""
    baseline_for = models.TextField(blank=True)
    hidden_at = models.DateTimeField(null=True, blank=True)
    """Time at which an organiser hid it; None for most."""
    hidden_for = models.TextField(blank=True)
    given_title = models.CharField(max_length=120, blank=True, editable=False)
    """The title in its files while it is hidden, for its team and the organisers; otherwise empty."""

    class Meta:
        ordering = ["-pk"]
        constraints = [
            UniqueConstraint(
                fields=["repository", "commit"],
                condition=~Q(state__in=["rejected", "withdrawn"]),
                name="commit_under_way_or_ready_once",
            ),
            UniqueConstraint(fields=["repository", "tag"], name="tag_once_per_repository"),
        ]
        indexes = [
            # of each repository the oldest that waits for a builder
            models.Index(fields=["repository", "id"], condition=Q(state="received"), name="submission_waiting"),
        ]

    def __str__(self) -> str:
        return f"submission {self.pk}"


class QuotaSlot(models.Model):
    """One line of the quota ledger: a slot is reserved by the push gate, then used or refunded; the line stays."""

    class State(models.TextChoices):
        RESERVED = "reserved", "reserved"
        USED = "used", "used"
        REFUNDED = "refunded", "refunded"

    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="quota_slots")
    commit = models.CharField(max_length=64)
    tag = models.CharField(max_length=200)
    title = models.CharField(max_length=120)
    licence = models.CharField(max_length=200)
    """Title and licence of the commit's manifest, as the push gate read them."""
    reserved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reserved_at = models.DateTimeField(db_index=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RESERVED)
    settled_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=40, blank=True)
    """Reason of a refund, e.g. `build_rejected`, `fault`, `push_broken_off`, `withdrawn`. On a used slot
    `awaits_organiser`: a platform error used it, and an organiser may refund it."""
    problem = models.TextField(blank=True)
    """Why its stored tag did not become a submission; such a tag is not tried again."""
    submission = models.OneToOneField(
        Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="quota_slot"
    )

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["repository", "reserved_at"])]

    def __str__(self) -> str:
        return f"slot of {self.repository} at {in_words(self.reserved_at)} ({self.state})"


class Build(Leased):
    """One attempt to turn a submission into a player: build and smoke test. Each claim makes a new one, which its
    worker holds by a lease.
    """

    LEASE = timedelta(seconds=60)

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="builds")
    attempt = models.PositiveSmallIntegerField()
    worker = models.CharField(max_length=120)
    started_at = models.DateTimeField()
    checks_began_at = models.DateTimeField(null=True, blank=True)
    """Start of the smoke test; None if the build did not succeed."""
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=40, blank=True)
    """`ready`, the reason of a refusal, `withdrawn`, or a platform error: `fault`, `overdue`, `lost`. Two do not count
    against the submission: `host` (it failed a check afterwards) and `stopped` (the worker was)."""
    checks = models.JSONField(default=list, blank=True)
    """Checks of the smoke test: a list of {name, passed, seen, headline, fix}; `passed` is null where it was not
    reached."""
    pictures = models.JSONField(default=dict, blank=True)
    """What `submissions.smoke_test_pictures` keeps of the smoke test's public samples; empty for none."""

    class Meta:
        ordering = ["attempt"]
        constraints = [UniqueConstraint(fields=["submission", "attempt"], name="build_attempt_once")]
        indexes = [
            models.Index(fields=["lease_until"], condition=Q(lease_until__isnull=False), name="build_held"),
            # the outcomes after which a submission may have to wait
            models.Index(
                fields=["finished_at"],
                condition=Q(outcome__in=["fault", "host", "lost", "overdue"]),
                name="build_fault",
            ),
        ]

    @property
    def holder(self) -> str:
        return self.worker

    def __str__(self) -> str:
        return f"build {self.attempt} of {self.submission}"


class LogChunk(models.Model):
    """Some lines of a build's log, in order and never changed: a line keeps its number."""

    class Stage(models.TextChoices):
        BUILD = "build", "build"
        SMOKE = "smoke", "smoke test"

    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="log_chunks")
    stage = models.CharField(max_length=5, choices=Stage.choices)
    first_line = models.PositiveIntegerField()
    lines = models.PositiveIntegerField()
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["first_line"]
        constraints = [UniqueConstraint(fields=["build", "first_line"], name="log_line_once")]

    def __str__(self) -> str:
        return f"lines {self.first_line} to {self.first_line + self.lines - 1} of {self.build}"
