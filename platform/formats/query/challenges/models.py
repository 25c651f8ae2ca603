"""Challenges, with the results of their samples."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.models import RulesVersion, SampleSet
from formats.query.tracks import MODEL
from submissions.models import Submission
from workers.work_item_models import HostedItem


class Challenge(HostedItem):
    """An unranked match of a submission against an opponent that its team chose, on the first development samples.

    Nothing else reads its result: no leaderboard, no round and no statistic of scores.
    """

    class Progress(models.TextChoices):
        WAITING = "waiting", "waiting"
        PLAYING = "playing", "playing"
        PLAYED = "played", "played"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    OPEN = (HostedItem.State.WAITING, HostedItem.State.CLAIMED)

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="challenges")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField()
    opponent_track = models.CharField(max_length=16)
    baseline = models.CharField(max_length=60, blank=True)
    """The name of a bundled opponent; empty if the opponent is a submission."""
    opponent = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The opponent whose code is released; None for a bundled one."""
    rules = models.ForeignKey(RulesVersion, on_delete=models.PROTECT, related_name="+")
    sample_set = models.ForeignKey(SampleSet, on_delete=models.PROTECT, related_name="+")
    samples = models.PositiveSmallIntegerField()
    """The number of samples, from the first of the set."""
    seed = models.BigIntegerField()
    needs_gpu = models.BooleanField(default=False)

    results = models.JSONField(default=list, blank=True)
    """A row for each played sample, by name the columns of `MatchSampleRow` in `matches.match_numbers_and_curves`."""
    median = models.FloatField(null=True, blank=True)
    """The median distance over the samples; None before it is played."""
    images = models.CharField(max_length=64, blank=True)
    """The digest of the perturbed images in the object store, in the order of the rows."""
    played_at = models.DateTimeField(null=True, blank=True)
    fault = models.TextField(blank=True)
    """The last platform error."""

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(baseline="", opponent__isnull=False) | (~Q(baseline="") & Q(opponent=None)),
                name="challenge_has_one_opponent",
            ),
        ]
        indexes = [models.Index(fields=["state", "entry", "queued_at"])]

    def __str__(self) -> str:
        return f"challenge {self.pk}"

    @property
    def attack_track(self) -> str:
        """The name of the track of the attack, which is the own submission or the opponent."""
        own = self.submission.repository.track.name
        return self.opponent_track if own == MODEL else own

    @property
    def opponent_name(self) -> str:
        """What the opponent is called in requests: the name of a bundled one, or the number of a submission."""
        return self.baseline or str(self.opponent_id)

    @property
    def progress(self) -> Progress:
        """How far it is, in the words of matches: a waiting one whose player left the competition is cancelled."""
        if self.state == self.State.CLAIMED:
            return self.Progress.PLAYING
        players = [self.submission, *([self.opponent] if self.opponent else [])]
        left = any(each.state != Submission.State.READY or each.disqualified_at is not None for each in players)
        if self.state == self.State.WAITING and left:
            return self.Progress.CANCELLED
        return self.Progress(self.state)
