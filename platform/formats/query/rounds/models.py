"""What the query format keeps of a round: its matches, stages, decisions, warnings and pools."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from competitions.models import Track
from formats.query.leaderboards.models import Pool
from formats.query.matches.models import Match
from rounds.models import Round
from submissions.models import Player


class RoundMatch(models.Model):
    """A match that a round requested."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="round_matches")
    match = models.OneToOneField(Match, on_delete=models.PROTECT, related_name="round_match")
    images = models.CharField(max_length=64, blank=True, editable=False)
    """Digest in the object store of the archive of its perturbed images, once requested."""
    samples = models.PositiveIntegerField(null=True, blank=True)
    """Number of samples, from the first, that the outcome uses; empty until the round is scored."""
    median = models.FloatField(null=True, blank=True)
    """The median distance over these samples."""
    held = models.PositiveIntegerField(null=True, blank=True)
    """The number of these samples without an adversarial."""

    class Meta:
        verbose_name_plural = "round matches"
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.match} of round {self.round_id}"


class RoundStage(models.Model):
    """A finished stage of a bracket. `bracket` is the attack track that plays in it."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="stages")
    bracket = models.CharField(max_length=16)
    number = models.PositiveSmallIntegerField()
    samples = models.PositiveIntegerField()
    ordered_by = models.CharField(max_length=9)
    panel = models.JSONField()
    """{"models": [digests], "attacks": [digests]}; `counted` has the same form."""
    counted = models.JSONField()
    loop = models.PositiveSmallIntegerField()
    renewed = models.BooleanField()

    class Meta:
        ordering = ["round", "-bracket", "number"]
        constraints = [UniqueConstraint(fields=["round", "bracket", "number"], name="stage_once_per_round")]

    def __str__(self) -> str:
        return f"stage {self.number} ({self.bracket}) of round {self.round_id}"


class Decision(models.Model):
    """One line of the decision log: what a stage decided on one player, and by which value."""

    stage = models.ForeignKey(RoundStage, on_delete=models.CASCADE, related_name="decisions")
    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="decisions")
    player = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="decisions")
    place = models.PositiveIntegerField()
    value = models.FloatField(null=True, blank=True)
    cut_line = models.FloatField(null=True, blank=True)
    kept = models.BooleanField()
    spared = models.BooleanField(default=False)
    inconsistent = models.BooleanField(default=False)
    """A model that left because its audits failed."""

    class Meta:
        ordering = ["stage", "track", "place"]
        constraints = [UniqueConstraint(fields=["stage", "player"], name="player_decided_once_per_stage")]

    def __str__(self) -> str:
        return f"{'keep' if self.kept else 'cut'} {self.player} at place {self.place}"


class RoundWarning(models.Model):
    """An attack that does not count but would have broken a winning model. It does not score."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="warnings")
    model = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="+")
    attack = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="+")
    nearer = models.PositiveIntegerField()
    samples = models.PositiveIntegerField()
    median = models.FloatField(null=True, blank=True)
    """The model's score on these samples if the attack counted, too; null for rounds of earlier versions."""

    class Meta:
        ordering = ["round", "pk"]
        constraints = [UniqueConstraint(fields=["round", "model", "attack"], name="warned_once_per_round")]

    def __str__(self) -> str:
        return f"{self.attack} would have broken {self.model}"


class RoundPool(models.Model):
    """A pool that the publication of a round made, at most one of each track."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="round_pools")
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="rounds")

    class Meta:
        ordering = ["pk"]
        unique_together = [("round", "pool")]

    def __str__(self) -> str:
        return f"{self.pool} of round {self.round_id}"


class GonePlayer(models.Model):
    """A player that was withdrawn or disqualified when the publication of a round made its pools."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="gone_players")
    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ["pk"]
        unique_together = [("round", "player")]

    def __str__(self) -> str:
        return f"{self.player}, gone before round {self.round_id}"
