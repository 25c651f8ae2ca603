"""A competition and what organisers set in it."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models
from django.db.models import F, Q, UniqueConstraint

from accounts.models import Team


def new_seed_salt() -> str:
    """A new salt for the seeds of a competition's matches: 64 hexadecimal digits of this site's randomness."""
    return secrets.token_hex(32)


class Competition(models.Model):
    """The whole contest. Described by one TOML file, editable afterwards."""

    class LicencePolicy(models.TextChoices):
        ANY = "any", "any licence"
        OPEN_SOURCE = "open-source", "an open-source licence, for the final"

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    summary = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True, help_text="Markdown.")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    public = models.BooleanField(default=False, help_text="Whether others than its organisers see it.")
    licence_policy = models.CharField(max_length=20, choices=LicencePolicy.choices, default=LicencePolicy.OPEN_SOURCE)
    rescore_all = models.BooleanField(
        default=False,
        help_text="After a round, measure every submission at once; else the best 20 of a board, the others when idle.",
    )
    smoke_opponent = models.CharField(
        max_length=300,
        blank=True,
        help_text="The bundled model, or the directory of the one, that attacks meet in the smoke test. Empty: for the "
        "digits a bundled model, else one that is made from the development samples.",
    )
    smoke_opponent_digest = models.CharField(max_length=64, blank=True, editable=False)
    """Where the object store keeps the files of the directory."""
    new_validation_set = models.BooleanField(
        default=True,
        help_text="After a round, draw a new validation set from further images of the split of the one in force, "
        "where there are enough.",
    )
    seed_salt = models.CharField(max_length=64, default=new_seed_salt, editable=False)
    """Without it nobody can compute the seeds of matches and the public names of players. Shown to nobody, and in no
    file."""
    leaderboards_frozen_since = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when the public boards stand still; None while they move."""
    created_at = models.DateTimeField()
    organisers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Organiser", related_name="organised_competitions"
    )

    class Meta:
        ordering = ["-starts_at", "slug"]
        constraints = [models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="ends_after_it_starts")]

    def __str__(self) -> str:
        return self.title


class Organiser(models.Model):
    """A person who runs a competition: sees everything of it, and may change it."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="organiser_roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="organiser_roles")

    class Meta:
        constraints = [UniqueConstraint(fields=["competition", "user"], name="organiser_once_per_competition")]

    def __str__(self) -> str:
        return f"{self.user} of {self.competition}"


class Track(models.Model):
    """What is submitted and how it is scored. `name` is used in addresses and manifests."""

    class Name(models.TextChoices):
        MODEL = "model", "model"
        UNTARGETED = "untargeted", "untargeted attack"
        TARGETED = "targeted", "targeted attack"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="tracks")
    name = models.CharField(max_length=12, choices=Name.choices)
    title = models.CharField(max_length=80)
    text = models.TextField(blank=True, help_text="Markdown.")
    quota = models.PositiveSmallIntegerField(default=5, help_text="Submissions of one team in any 24 hours.")
    baselines = models.JSONField(
        default=list, blank=True, help_text="Names of bundled submissions: the first pool, until a round makes another."
    )

    class Meta:
        ordering = ["pk"]
        constraints = [UniqueConstraint(fields=["competition", "name"], name="one_track_per_name")]

    def __str__(self) -> str:
        return f"{self.competition.slug}/{self.name}"


class RulesVersion(models.Model):
    """The rules as values, never changed once made: a change is a new version, and scores name theirs."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="rules_versions")
    version = models.PositiveIntegerField()
    values = models.JSONField(help_text="What evaluation.domain.rules reads, and the smoke stage's least_accuracy.")
    note = models.TextField(blank=True, help_text="What changed, and why.")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-version"]
        constraints = [UniqueConstraint(fields=["competition", "version"], name="rules_version_once")]

    def __str__(self) -> str:
        return f"{self.competition.slug} rules {self.version}"


class SampleSet(models.Model):
    """Samples of one purpose, imported once. Images, labels and targets lie in the object store under `digest`."""

    class Purpose(models.TextChoices):
        DEVELOPMENT = "development", "development (public)"
        VALIDATION = "validation", "validation (secret)"
        TEST = "test", "test (secret)"
        FINAL = "final", "final (secret)"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="sample_sets")
    name = models.SlugField(max_length=40)
    purpose = models.CharField(max_length=12, choices=Purpose.choices)
    source = models.CharField(max_length=300, help_text='What evaluation.datasets reads, e.g. "digits".')
    split = models.CharField(max_length=60)
    skip = models.PositiveIntegerField(default=0, help_text="Samples at the beginning of the split that are left out.")
    count = models.PositiveIntegerField()
    target_seed = models.BigIntegerField(help_text="Draws the classes that targeted attacks must reach.")
    digest = models.CharField(max_length=64, editable=False)
    class_names = models.JSONField(default=list, editable=False)
    imported_at = models.DateTimeField()
    drawn_from = models.ForeignKey(
        "self", null=True, blank=True, editable=False, on_delete=models.PROTECT, related_name="draws"
    )
    """The imported set whose samples these are in a secret order: a round plays on a set of its own."""
    replaces = models.ForeignKey(
        "self", null=True, blank=True, editable=False, on_delete=models.PROTECT, related_name="replaced_by"
    )
    """The validation set in whose place the site drew this one, from further images of the same split, after a round.
    `skip` is empty for it: its images follow from the site's randomness."""

    images_public_since = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when its images are public. They stay so, whatever is withdrawn: they are never secret samples again."""

    class Meta:
        ordering = ["pk"]
        constraints = [UniqueConstraint(fields=["competition", "name"], name="sample_set_name_once")]

    def __str__(self) -> str:
        return f"{self.competition.slug}/{self.name}"

    @property
    def secret(self) -> bool:
        """Whether its images reach players only through the referee."""
        return self.purpose != self.Purpose.DEVELOPMENT


class FreezeWindow(models.Model):
    """A time in which code can be pushed and nothing is accepted as a submission."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="freeze_windows")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=200, help_text="Shown to teams, e.g. top-five round 1.")
    called_off_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when it will not take place: it closes nothing, and its times stay as they were planned."""

    class Meta:
        ordering = ["starts_at"]
        constraints = [models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="window_ends_after_start")]

    def __str__(self) -> str:
        return f"{self.competition.slug}: {self.reason}"


class Entry(models.Model):
    """A team that takes part in a competition. A team takes part in one: its addresses name no competition."""

    team = models.OneToOneField(Team, on_delete=models.PROTECT, related_name="entry")
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="entries")
    ineligible_for_prizes = models.BooleanField(default=False)
    low_priority = models.BooleanField(
        default=False,
        help_text="For teams of the organisers: their builds and matches give way to those of others.",
    )
    joined_at = models.DateTimeField()

    class Meta:
        ordering = ["joined_at", "pk"]
        verbose_name_plural = "entries"

    def __str__(self) -> str:
        return f"{self.team.slug} in {self.competition.slug}"
