"""The tables of the curves format: what workers play, and the scores and best known distances that follow from it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from competitions.models import RulesVersion, SampleSet
from evaluation.formats.curves.rules import ListedAttack
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm
from rounds.models import Round, RoundEntry
from submissions.models import Submission
from workers.work_item_models import HostedItem

GOALS = [(Goal.UNTARGETED.value, "untargeted"), (Goal.TARGETED.value, "targeted")]
NORMS = [(Norm.LINF.value, "L-inf"), (Norm.L2.value, "L2")]
KNOWLEDGE = [
    (Knowledge.WHITE_BOX.value, "white-box"),
    (Knowledge.TRANSFER.value, "transfer-based"),
    (Knowledge.SCORE.value, "score-based"),
    (Knowledge.DECISION.value, "decision-based"),
]


class Benchmark(HostedItem):
    """One attack with one goal and norm against one submission, for a round or for the leaderboard."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="benchmarks")
    sample_set = models.ForeignKey(SampleSet, on_delete=models.PROTECT, related_name="benchmarks")
    rules = models.ForeignKey(RulesVersion, on_delete=models.PROTECT, related_name="+")
    round = models.ForeignKey(Round, null=True, blank=True, on_delete=models.PROTECT, related_name="benchmarks")
    attack = models.CharField(max_length=40)
    goal = models.CharField(max_length=10, choices=GOALS)
    norm = models.CharField(max_length=13, choices=NORMS)
    knowledge = models.CharField(max_length=9, choices=KNOWLEDGE)
    queries = models.PositiveIntegerField()
    """The most queries for one image; of a white-box attack, its iterations."""

    seed = models.BigIntegerField(null=True, blank=True)
    """What the attack drew from; None if it is not played, or was played before seeds were stored."""
    result = models.CharField(max_length=64, blank=True)
    """The digest of the results in the object store; empty if it is not played, or ended with an error."""
    reason = models.CharField(max_length=40, blank=True)
    """Why the submission failed; see `evaluation.domain.failure_reasons.Reason`."""
    detail = models.TextField(blank=True)
    accuracy = models.FloatField(null=True, blank=True)
    """The share of images that are right within the fixed budget."""
    median_distance = models.FloatField(null=True, blank=True)
    """None: most images have no adversarial."""
    most_queries = models.PositiveIntegerField(null=True, blank=True)
    """The most queries that were used for one image."""
    played_at = models.DateTimeField(null=True, blank=True)
    fault = models.TextField(blank=True)
    """The last platform error."""

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "sample_set", "rules", "attack", "goal", "norm"], name="benchmarked_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.attack} ({self.goal}, {self.norm}) against {self.submission}"

    @property
    def listed(self) -> ListedAttack:
        """The attack as the rules list it."""
        return ListedAttack(self.attack, Goal(self.goal), Norm(self.norm), self.queries)


class ModelScore(models.Model):
    """The standing of a submission under one threat model: it follows from its benchmarks."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="model_scores")
    sample_set = models.ForeignKey(SampleSet, on_delete=models.PROTECT, related_name="+")
    rules = models.ForeignKey(RulesVersion, on_delete=models.PROTECT, related_name="+")
    knowledge = models.CharField(max_length=9, choices=KNOWLEDGE)
    goal = models.CharField(max_length=10, choices=GOALS)
    norm = models.CharField(max_length=13, choices=NORMS)
    accuracy = models.FloatField()
    """The share of images that are right, whichever attack of the threat model changes them within the fixed budget."""
    clean_accuracy = models.FloatField()
    median_distance = models.FloatField(null=True, blank=True)
    """The median of the smallest distance that any of the attacks found; None: most images have none."""
    budgets = models.JSONField()
    curve = models.JSONField()
    """The accuracy within each of the budgets."""
    scored_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "sample_set", "rules", "knowledge", "goal", "norm"],
                name="scored_once_per_threat_model",
            )
        ]

    def __str__(self) -> str:
        return f"{self.submission}: {self.knowledge}, {self.goal}, {self.norm}"


class Proof(HostedItem):
    """Adversarial images of a released model that somebody uploaded, which a worker verifies."""

    class Outcome(models.TextChoices):
        VERIFIED = "verified", "verified"
        MODEL_FAILED = "model failed", "the model failed"
        TOO_LONG = "too long", "the verification took too long"

    round_entry = models.ForeignKey(RoundEntry, on_delete=models.PROTECT, related_name="proofs")
    """The model in the released round, whose samples the images belong to."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="proofs")
    uploaded_at = models.DateTimeField()
    content = models.CharField(max_length=64)
    """The digest of its archive in the object store."""
    bytes = models.PositiveIntegerField()
    """Number of bytes of this archive."""
    images = models.PositiveIntegerField()
    """Number of its images."""

    outcome = models.CharField(max_length=12, choices=Outcome.choices, blank=True)
    """Empty until a worker has asked the model."""
    reason = models.CharField(max_length=40, blank=True)
    """Why the model failed; see `evaluation.domain.failure_reasons.Reason`. That is no error of who uploaded it."""
    detail = models.TextField(blank=True)
    verdicts = models.JSONField(default=list, blank=True)
    """What the model said of each image; see `evaluation.formats.curves.proofs.image_verdict.ImageVerdict`."""
    position = models.PositiveIntegerField(null=True, blank=True)
    """Its place among the verified proofs of the model, from 1: they lower the best known distances in this order."""
    verified_at = models.DateTimeField(null=True, blank=True)
    fault = models.TextField(blank=True)
    """The last platform error."""

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["round_entry", "position"], name="proofs_of_a_model_have_an_order"),
        ]

    def __str__(self) -> str:
        return f"proof {self.pk} against {self.round_entry}"


class Improvement(models.Model):
    """A best known distance that a proof lowered. Rows are added, and never changed."""

    proof = models.ForeignKey(Proof, on_delete=models.PROTECT, related_name="improvements")
    image = models.PositiveIntegerField()
    """The number of the image in the round, from 0."""
    norm = models.CharField(max_length=13, choices=NORMS)
    distance = models.FloatField()
    """The distance that is best known since then, of images with values from 0 to 1."""
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["proof", "image", "norm"], name="improved_once_per_proof"),
        ]

    def __str__(self) -> str:
        return f"{self.get_norm_display()} of image {self.image} by {self.proof}"
