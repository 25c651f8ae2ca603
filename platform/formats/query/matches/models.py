"""Matches, their pieces and sample results."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q, UniqueConstraint

from competitions.models import Entry, RulesVersion, SampleSet
from submissions.models import Player
from workers.models import Worker
from workers.work_item_models import WorkItem


class Match(models.Model):
    """One attack against one model over a sample set under one version of the rules. Played once, for everybody.

    Its pieces cover the samples requested so far. When they are played, its model is audited, unless it is bundled.
    `repetition` is 0, or the number of the rejudging that plays it again. No worker claims pieces of a suspended match.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        PLAYING = "playing", "playing"
        AUDIT = "audit", "audit"
        PLAYED = "played", "played"
        FAILED = "failed", "failed"
        SUSPENDED = "suspended", "suspended"
        CANCELLED = "cancelled", "cancelled"

    rules = models.ForeignKey(RulesVersion, on_delete=models.PROTECT, related_name="matches")
    sample_set = models.ForeignKey(SampleSet, on_delete=models.PROTECT, related_name="matches")
    model = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="matches_as_model")
    attack = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="matches_as_attack")
    repetition = models.PositiveIntegerField(default=0)
    seed = models.BigIntegerField()
    needs_gpu = models.BooleanField(default=False)
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING, db_index=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    audit = models.JSONField(default=dict, blank=True)
    """The counts of `AuditReport`, summed over its pieces, and `passed`."""
    fault = models.TextField(blank=True)
    """The platform error of a match in state `failed`."""
    suspended_when_replayed = models.BooleanField(default=False, editable=False)
    """It was suspended after it had failed: a replay leaves it suspended until it is resumed."""

    class Meta:
        verbose_name_plural = "matches"
        ordering = ["pk"]
        constraints = [
            UniqueConstraint(fields=["rules", "sample_set", "model", "attack", "repetition"], name="match_played_once")
        ]

    def __str__(self) -> str:
        return f"match {self.pk}"


class Piece(WorkItem):
    """A batch of a match's samples, claimed, played and committed as one; or the audit of the model after them.

    An audit covers no samples (`count` is 0) and is deleted when it is done: its counts are those of the pieces.
    """

    class Kind(models.TextChoices):
        PLAY = "play", "play"
        AUDIT = "audit", "audit"

    NO_WORKER: ClassVar = {"worker": None}

    match = models.ForeignKey(Match, on_delete=models.CASCADE, related_name="pieces")
    kind = models.CharField(max_length=5, choices=Kind.choices, default=Kind.PLAY)
    number = models.PositiveIntegerField()
    first = models.PositiveIntegerField()
    """Index of its first sample in the sample set."""
    count = models.PositiveSmallIntegerField()
    entry = models.ForeignKey(Entry, null=True, blank=True, on_delete=models.PROTECT, related_name="pieces")
    """The team whose share of the workers it uses; None for rounds and rejudgings."""
    worker = models.ForeignKey(Worker, null=True, blank=True, on_delete=models.SET_NULL, related_name="pieces")
    played_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    model_seconds = models.FloatField(null=True, blank=True)
    """The seconds of these in which the model answered; None for pieces that were played before it was measured."""
    worker_class = models.CharField(max_length=3, choices=Worker.Class.choices, blank=True)
    calibration = models.FloatField(null=True, blank=True)
    artefact = models.CharField(max_length=64, blank=True)
    """Digest of the compressed images and query trace in the object store."""
    kept = models.CharField(max_length=64, blank=True, editable=False)
    """Digest in the object store of the frames for the audit, until it is done."""
    audit = models.JSONField(default=dict, blank=True)
    failures = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["match", "number"]
        constraints = [UniqueConstraint(fields=["match", "number"], name="piece_once_per_match")]
        indexes = [
            models.Index(fields=["state", "match", "number"]),
            models.Index(fields=["state", "priority", "entry", "queued_at", "match", "number"]),
            models.Index(fields=["state", "match"], condition=Q(kind="audit"), name="open_audits"),
        ]

    def __str__(self) -> str:
        return f"audit of {self.match}" if self.is_audit else f"piece {self.number} of {self.match}"

    @property
    def is_audit(self) -> bool:
        """True for the audit of the model, which follows the pieces of its match."""
        return self.kind == self.Kind.AUDIT

    @property
    def holder(self) -> str:
        return self.worker.name if self.worker else ""


class SampleResult(models.Model):
    """The result of one sample of a match. Distances are L2 over pixels / 255; the label stays with the sample set."""

    match = models.ForeignKey(Match, on_delete=models.CASCADE, related_name="sample_results")
    piece = models.ForeignKey(Piece, on_delete=models.CASCADE, related_name="sample_results")
    sample = models.PositiveIntegerField()
    outcome = models.CharField(max_length=12)
    distance = models.FloatField()
    worst_case = models.FloatField()
    queries = models.PositiveIntegerField()
    seconds = models.FloatField()
    reason = models.CharField(max_length=20, blank=True)
    found_label = models.SmallIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["match", "sample"]
        constraints = [UniqueConstraint(fields=["match", "sample"], name="sample_once_per_match")]

    def __str__(self) -> str:
        return f"sample {self.sample} of {self.match}"
