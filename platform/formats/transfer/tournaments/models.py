"""Tournaments of the transfer format, their entrants, and the runs of attacks and defences on batches."""

from __future__ import annotations

from django.db import models
from django.db.models import Q, UniqueConstraint

from competitions.models import Competition, RulesVersion, SampleSet, Track
from rounds.models import Round
from submissions.models import Player, Submission
from workers.work_item_models import HostedItem


class Tournament(models.Model):
    """Every attack against every defence on one sample set under one version of the rules.

    That of the rules in force and the validation samples is the leaderboard's: ready submissions enter it. The field of
    a round's is fixed: nobody enters or leaves.
    """

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="tournaments")
    rules = models.ForeignKey(RulesVersion, on_delete=models.PROTECT, related_name="tournaments")
    sample_set = models.ForeignKey(SampleSet, on_delete=models.PROTECT, related_name="tournaments")
    round = models.OneToOneField(
        Round, null=True, blank=True, on_delete=models.PROTECT, related_name="tournament", editable=False
    )
    """The round that plays it from its freeze on; None for a leaderboard's."""
    seed = models.BigIntegerField(editable=False)
    """It decides the epsilons, if they are drawn, and the names of files. Secret."""
    made_at = models.DateTimeField()
    fixed = models.BooleanField(default=False)
    """Whether its field is that of a round, whose runs are played before those of leaderboards."""
    suspended = models.BooleanField(default=False)
    """While it is, no run is claimed; those that are held are finished."""
    ended_at = models.DateTimeField(null=True, blank=True)
    """Time at which a fixed one was ranked or cancelled, or other rules or samples came into force for a leaderboard.

    Nothing is played any more. A leaderboard's is opened again if its rules and samples come into force again.
    """
    step_notified = models.BooleanField(default=False, editable=False)
    """Whether a worker was notified of a step after a commit, and has not begun it yet."""

    class Meta:
        ordering = ["pk"]
        constraints = [UniqueConstraint(fields=["rules", "sample_set"], name="one_tournament_per_rules_and_samples")]

    def __str__(self) -> str:
        return f"tournament {self.pk}"


class Entrant(models.Model):
    """A player that counts in a tournament: it met every opponent that was there before it, on every batch.

    `submission` is None for a baseline. The columns from `rank` on are its standing against the entrants that are there
    now (see `evaluation.formats.transfer.scoring.scores`).
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="entrants")
    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="entrants")
    player = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="entrants")
    submission = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.PROTECT, related_name="entrants")
    entered_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True, blank=True)
    """Time at which a newer submission of its team replaced it, or it was withdrawn or disqualified."""

    rank = models.PositiveIntegerField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    raw = models.PositiveIntegerField(null=True, blank=True)
    worst = models.FloatField(null=True, blank=True)
    coverage = models.FloatField(null=True, blank=True)
    opponents = models.PositiveIntegerField(null=True, blank=True)
    median_seconds = models.FloatField(null=True, blank=True)
    low = models.FloatField(null=True, blank=True)
    """The lower end of the 95 % interval of the score over images; None with too few images."""
    high = models.FloatField(null=True, blank=True)
    rank_low = models.PositiveIntegerField(null=True, blank=True)
    """The best rank of its 95 % rank interval."""
    rank_high = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["tournament", "track", "rank", "entered_at", "pk"]
        constraints = [
            UniqueConstraint(fields=["tournament", "submission"], name="submission_enters_once"),
            UniqueConstraint(
                fields=["tournament", "player"], condition=Q(submission=None), name="baseline_enters_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.player} in {self.tournament}"


class Run(HostedItem):
    """A submission on one batch, run once."""

    fault = models.TextField(blank=True)
    """The last platform error, for organisers."""
    played_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    """Time of the submission, in seconds of the reference machine."""
    calibration = models.FloatField(null=True, blank=True)
    reason = models.CharField(max_length=20, blank=True)
    """Why it did not end by itself in time and without an error (`BatchReason`); empty if it did."""
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        abstract = True


class AttackRun(Run):
    """An attack on one batch of a tournament. Its images never change once it is played."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="attack_runs")
    attack = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="attack_runs")
    batch = models.PositiveIntegerField()
    epsilon = models.PositiveSmallIntegerField()
    images = models.PositiveIntegerField()
    """Number of images of the batch."""
    made = models.PositiveIntegerField(null=True, blank=True)
    """Number of them that the attack made."""
    hashes = models.JSONField(default=list, blank=True)
    """SHA-256 of the pixels of each image, empty for those that were not made."""
    notes = models.JSONField(default=dict, blank=True)
    """Number of images with each `ImageNote`."""
    artefact = models.CharField(max_length=64, blank=True)
    """Digest in the object store of the images, clipped to the ball: a zip of PNG files named by their index."""
    defences_requested = models.BooleanField(default=False, editable=False)
    """Whether the runs of the defences that took part when it was played were requested."""

    class Meta:
        ordering = ["tournament", "attack", "batch"]
        constraints = [UniqueConstraint(fields=["tournament", "attack", "batch"], name="attacked_once")]
        indexes = [
            models.Index(fields=["state", "priority", "entry", "queued_at", "id"], name="attack_run_queue"),
            models.Index(
                fields=["tournament"], condition=Q(state="played", defences_requested=False), name="attack_run_new"
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.batch} of {self.attack}"


class DefenceRun(Run):
    """A defence on the images that one attack made of one batch."""

    attack_run = models.ForeignKey(AttackRun, on_delete=models.CASCADE, related_name="defence_runs")
    defence = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="defence_runs")
    labelled = models.PositiveIntegerField(null=True, blank=True)
    correct = models.PositiveIntegerField(null=True, blank=True)
    """Number of images with the true label."""
    hits = models.PositiveIntegerField(null=True, blank=True)
    """Number of images with the target class, if the attack is targeted."""
    labels = models.JSONField(default=list, blank=True)
    """The label of each image, -1 for none."""
    rows = models.JSONField(default=dict, blank=True)
    """Number of rows of the result file with each `RowNote`."""

    class Meta:
        ordering = ["attack_run", "defence"]
        constraints = [UniqueConstraint(fields=["attack_run", "defence"], name="labelled_once")]
        indexes = [
            models.Index(fields=["state", "priority", "entry", "queued_at", "id"], name="defence_run_queue"),
        ]

    def __str__(self) -> str:
        return f"{self.defence} on {self.attack_run}"

    @property
    def tournament(self) -> Tournament:
        """The tournament of its attack run."""
        return self.attack_run.tournament


class RepeatRun(Run):
    """A defence on images that it has labelled in several of its runs: in other company, under other names, and later.

    A defence whose runs are independent labels them as before, or as often right where it is random.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="repeat_runs")
    defence = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="repeat_runs")
    number = models.PositiveIntegerField()
    images = models.JSONField(default=list)
    """The images in the order of their files: each the key of the `DefenceRun` and the index in it."""
    labels = models.JSONField(default=list, blank=True)
    """The label of each image now, -1 for none."""
    changed = models.PositiveIntegerField(null=True, blank=True)
    lost = models.PositiveIntegerField(null=True, blank=True)
    """Number of images with the true label before, and another one now."""
    gained = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["tournament", "defence", "number"]
        constraints = [UniqueConstraint(fields=["tournament", "defence", "number"], name="repeated_once")]
        indexes = [
            models.Index(fields=["state", "priority", "entry", "queued_at", "id"], name="repeat_run_queue"),
        ]

    def __str__(self) -> str:
        return f"repeat {self.number} of {self.defence}"


class PairTotal(models.Model):
    """Sums over the played runs of a defence on the images of one attack. Each commit of such a run adds to them.

    They follow from the runs (`pair_totals`), so that neither a commit nor a ranking reads all of them.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="pair_totals")
    attack = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="+")
    defence = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="+")
    played = models.PositiveIntegerField(default=0)
    """Number of the runs."""
    labelled = models.PositiveIntegerField(default=0)
    correct = models.PositiveIntegerField(default=0)
    hits = models.PositiveIntegerField(default=0)
    seconds = models.BinaryField(default=b"")
    """The seconds of each run, ascending, as 64-bit floats: their median over all opponents is exact."""
    resampled = models.BinaryField(default=b"")
    """What the resamples of intervals draw of the pair (`resampled_pairs`), once all its runs are played."""

    class Meta:
        ordering = ["tournament", "attack", "defence"]
        constraints = [UniqueConstraint(fields=["tournament", "attack", "defence"], name="total_once_per_pair")]
        indexes = [models.Index(fields=["tournament", "defence"], name="total_of_defence")]

    def __str__(self) -> str:
        return f"total of {self.defence} on {self.attack}"
