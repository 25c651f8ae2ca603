"""Pools of opponents, evaluations against them, and the standings that follow."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import UniqueConstraint

from competitions.models import Competition, Entry, RulesVersion, SampleSet, Track
from formats.query.matches.models import Match
from repositories.models import Repository
from submissions.models import Player, Submission


class Pool(models.Model):
    """Frozen list of a track's players that the opposing tracks are measured against. The newest one is in force."""

    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="pools")
    number = models.PositiveIntegerField()
    made_at = models.DateTimeField()
    reason = models.CharField(max_length=200)
    of_first_submissions = models.BooleanField(default=False, editable=False)
    """Whether it holds the first ready submissions of a track with few baselines or none: further ones then join it."""
    players = models.ManyToManyField(Player, through="PoolPlace", related_name="pools")

    class Meta:
        ordering = ["-number"]
        constraints = [UniqueConstraint(fields=["track", "number"], name="pool_number_once")]

    def __str__(self) -> str:
        return f"pool {self.number} of {self.track}"


class PoolPlace(models.Model):
    """A player's place in a pool."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="places")
    place = models.PositiveSmallIntegerField()
    player = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="pool_places")

    class Meta:
        ordering = ["place"]
        constraints = [
            UniqueConstraint(fields=["pool", "place"], name="pool_place_once"),
            UniqueConstraint(fields=["pool", "player"], name="player_once_per_pool"),
        ]

    def __str__(self) -> str:
        return f"{self.place}. {self.player}"


class Snapshot(models.Model):
    """Copy of a track's leaderboard at one moment, never changed."""

    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="snapshots")
    made_at = models.DateTimeField()
    reason = models.CharField(max_length=200)
    rows = models.JSONField()
    """All rows of `formats.query.leaderboards.score_visibility.board`, as plain values."""

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"snapshot {self.pk} of {self.track}"

    def save(self, *args: Any, **options: Any) -> None:
        if self.pk is not None:
            raise TypeError("snapshots are never changed")
        super().save(*args, **options)


class Rejudging(models.Model):
    """Submissions measured again as a set, then compared, and published or discarded as a whole."""

    class State(models.TextChoices):
        PLAYING = "playing", "playing"
        COMPARED = "compared", "compared"
        PUBLISHED = "published", "published"
        DISCARDED = "discarded", "discarded"

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="rejudgings")
    reason = models.TextField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.PLAYING, db_index=True)
    made_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"rejudging {self.pk}"


class Evaluation(models.Model):
    """A submission measured against a pool on a sample set under one version of the rules.

    The score columns are empty until it is scored; `per_opponent` has a row for each, in the pool's order:
    {"player": id, "median": ..., "failures": ...}, with "own": true for those that an attack's score
    leaves out as they are its own team's.
    """

    class State(models.TextChoices):
        PLAYING = "playing", "playing"
        SCORED = "scored", "scored"
        VOID = "void", "void"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="evaluations")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="evaluations")
    sample_set = models.ForeignKey(SampleSet, on_delete=models.PROTECT, related_name="evaluations")
    rules = models.ForeignKey(RulesVersion, on_delete=models.PROTECT, related_name="evaluations")
    matches = models.ManyToManyField(Match, related_name="evaluations")
    rejudging = models.ForeignKey(
        Rejudging, null=True, blank=True, on_delete=models.PROTECT, related_name="evaluations"
    )
    replaces = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="replaced_by")
    """The previous evaluation that a rejudging compares with this one."""
    counts = models.BooleanField(default=True)
    """Whether it counts on leaderboards; in a rejudging only once that is published."""
    state = models.CharField(max_length=8, choices=State.choices, default=State.PLAYING, db_index=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    cause = models.CharField(max_length=10, choices=Submission.Cause.choices, blank=True)
    reason = models.CharField(max_length=40, blank=True)
    problem = models.TextField(blank=True)

    value = models.FloatField(null=True, blank=True)
    low = models.FloatField(null=True, blank=True)
    high = models.FloatField(null=True, blank=True)
    samples = models.PositiveIntegerField(null=True, blank=True)
    failures = models.PositiveIntegerField(null=True, blank=True)
    """Pairs of counted opponent and sample without an adversarial."""
    met = models.PositiveSmallIntegerField(null=True, blank=True)
    """Number of opponents that count: an attack's score excludes models of its own team."""
    value_all = models.FloatField(null=True, blank=True)
    """The score against all opponents, where some do not count."""
    held = models.PositiveIntegerField(null=True, blank=True)
    """For a model, the number of samples on which no opponent found an adversarial."""
    clean_wrong = models.PositiveIntegerField(null=True, blank=True)
    """For a model, the number of samples that it misclassified without an attack."""
    worst_opponent = models.ForeignKey(Player, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    per_opponent = models.JSONField(default=list, blank=True)
    median_seconds = models.FloatField(null=True, blank=True)
    mean_queries = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["submission", "pool"])]

    def __str__(self) -> str:
        return f"evaluation {self.pk}"

    @property
    def tries(self) -> int:
        """Number of pairs of counted opponent and sample: `failures` is a part of it."""
        return (self.samples or 0) * (len(self.per_opponent) if self.met is None else self.met)

    @property
    def clean_accuracy(self) -> float | None:
        """Share of samples that a model classifies correctly without an attack; None for attacks."""
        return None if self.clean_wrong is None or not self.samples else 1 - self.clean_wrong / self.samples

    @property
    def not_broken(self) -> bool:
        """Whether a model held on more than half of the samples: its score is then one of the worst cases."""
        return self.held is not None and 2 * self.held > (self.samples or 0)


class Resamples(models.Model):
    """The score of an evaluation in each bootstrap resample of the samples, the input of rank intervals."""

    evaluation = models.OneToOneField(Evaluation, primary_key=True, on_delete=models.CASCADE, related_name="resamples")
    medians = models.BinaryField()
    """float64, little-endian; the k-th values of two evaluations with equal sample counts use the same draw."""

    class Meta:
        verbose_name_plural = "resamples"

    def __str__(self) -> str:
        return f"resamples of {self.evaluation}"


class SubmissionChoice(models.Model):
    """A team's choice which of its submissions to a track counts. Never changed; the newest choice is in force."""

    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="submission_choices")
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="submission_choices"
    )
    """None: the newest one, as without a choice."""
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["repository", "made_at"])]

    def __str__(self) -> str:
        return f"choice of {self.submission or 'the newest submission'} in {self.repository}"


class Standing(models.Model):
    """One row of a leaderboard: the scored submission of a team that counts. Recomputed, never edited."""

    track = models.ForeignKey(Track, on_delete=models.CASCADE, related_name="standings")
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="standings")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.PROTECT, related_name="standings")
    place = models.PositiveIntegerField(default=0)
    """Position in the list: ranked rows first, then scores on earlier bases. Equal scores share a place."""
    rank = models.PositiveIntegerField(null=True, blank=True)
    """None for a score on another basis than the current one."""
    previous_rank = models.PositiveIntegerField(null=True, blank=True)
    """The rank on the same basis a day before the newest score of the track; None if it had none."""
    rank_low = models.PositiveIntegerField(null=True, blank=True)
    """The best rank that fits the data (95 %, all rows at once); None where no interval is computed."""
    rank_high = models.PositiveIntegerField(null=True, blank=True)
    """The worst such rank; with a `rank_low`, None means below all compared rows."""
    separated = models.BooleanField(null=True, blank=True)
    """Whether the data separate it from all of the next rank."""
    chosen = models.BooleanField(default=False)
    """Whether the team chose this submission; otherwise it is the newest scored one."""
    tried = models.PositiveIntegerField(null=True, blank=True)
    """How many submissions the team could choose from, with a score on the same samples; None where the newest one
    counts. The rank interval allows for it."""

    class Meta:
        ordering = ["track", "place", "entry"]
        constraints = [UniqueConstraint(fields=["track", "entry"], name="one_standing_per_track_and_entry")]
        indexes = [models.Index(fields=["track", "place"])]

    def __str__(self) -> str:
        return f"{self.rank}. {self.entry}" if self.rank else f"{self.entry}, without a rank"
