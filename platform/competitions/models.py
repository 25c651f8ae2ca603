"""Competitions, tracks, rules, sample sets, freeze windows and entries.

`organiser_page_models` has what organisers write, `uploaded_data_set_models` the images that they upload.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from typing import Self, TypeVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F, Q, UniqueConstraint

from accounts.models import Team
from competitions.formats import format_choices, track_choices
from competitions.organiser_page_models import Announcement, Page, TermsAcceptance, TermsVersion
from competitions.rules import rules_of
from competitions.rules_reader import Rules
from competitions.uploaded_data_set_models import DataSetUpload, UploadedDataSet
from core.calendar_range import require_in_calendar
from core.errors import Refusal
from core.roles import OrganiserRole

__all__ = [
    "Announcement",
    "Competition",
    "CompetitionOrigin",
    "DataSetUpload",
    "Entry",
    "FreezeWindow",
    "FrozenLeaderboards",
    "Organiser",
    "Page",
    "RulesVersion",
    "SampleSet",
    "TermsAcceptance",
    "TermsVersion",
    "Track",
    "UploadedDataSet",
    "new_seed_salt",
]

OfFormat = TypeVar("OfFormat", bound=Rules)

MAX_OBJECTION_DAYS = 90
"""The longest period for objections to the result of a round."""


def new_seed_salt() -> str:
    """Return a random salt for the seeds of a competition's matches: 64 hexadecimal digits."""
    return secrets.token_hex(32)


def default_format() -> str:
    """Return the format of a competition that names none."""
    return str(settings.DEFAULT_FORMAT)


class Competition(models.Model):
    """A competition. One TOML file describes it; it can be edited afterwards."""

    class LicencePolicy(models.TextChoices):
        ANY = "any", "any licence"
        OPEN_SOURCE = "open-source", "an open-source licence, for the final"
        REQUIRED = "required", "an open-source licence, to take part in the final"

    slug = models.SlugField(max_length=60, unique=True)
    format = models.CharField(max_length=10, choices=format_choices, default=default_format, editable=False)
    """The format of its rules, which no later version changes: it decides the tracks and who evaluates them."""
    title = models.CharField(max_length=120)
    summary = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True, help_text="Markdown.")
    data_source = models.TextField(
        blank=True, help_text="Markdown. Source and licence of the images, for the page of the data set."
    )
    citation = models.TextField(
        blank=True, help_text="BibTeX entry of the competition. If empty: made from title, dates and address."
    )
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    public = models.BooleanField(default=False, help_text="Visible to everyone, not only to organisers.")
    licence_policy = models.CharField(max_length=20, choices=LicencePolicy.choices, default=LicencePolicy.OPEN_SOURCE)
    rescore_all = models.BooleanField(
        default=False,
        help_text="After a round, re-evaluate every submission at once. Otherwise the best 20 first, the others when "
        "workers are idle.",
    )
    smoke_opponent = models.CharField(
        max_length=300,
        blank=True,
        help_text="Model that attacks are run against in the smoke test: a bundled model or a directory. If empty: a "
        "bundled model for the digits, otherwise a nearest-mean model of the development samples.",
    )
    smoke_opponent_digest = models.CharField(max_length=64, blank=True, editable=False)
    """Digest of the directory's files in the object store."""
    new_validation_set = models.BooleanField(
        default=True,
        help_text="After a round, draw a new validation set from unused images of the same split, if there are enough.",
    )
    objection_days = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(MAX_OBJECTION_DAYS)],
        help_text="Days after the publication of a round in which its teams may object to the result, which is "
        "provisional meanwhile; 0 for none. A round keeps the number that it was planned with.",
    )
    seed_salt = models.CharField(max_length=64, default=new_seed_salt, editable=False)
    """Secret from which the seeds of matches and the pseudonyms of players are derived. Never shown, and only in the
    archive of the whole competition."""
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Since then nothing new is accepted, started or claimed in it, and lists leave it out; None for all others."""
    organisers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Organiser", related_name="organised_competitions"
    )

    class Meta:
        ordering = ["-starts_at", "slug"]
        constraints = [models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="ends_after_it_starts")]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        """Raise `ValidationError` for a time that no page could write."""
        wrong = {}
        for name in ("starts_at", "ends_at"):
            try:
                require_in_calendar(*filter(None, [getattr(self, name)]))
            except Refusal as refusal:
                wrong[name] = f"{refusal.problem}: {refusal.fix}"
        if wrong:
            raise ValidationError(wrong)


class CompetitionOrigin(models.Model):
    """The site on which an imported competition was played: its files name it, and its keys signed them.

    A competition that has one can only be read, see `competitions.origin`.
    """

    competition = models.OneToOneField(
        Competition, primary_key=True, on_delete=models.CASCADE, related_name="origin", editable=False
    )
    slug = models.SlugField(max_length=60)
    """Its slug on that site, as the signed files have it."""
    address = models.CharField(max_length=300)
    """The address of that site."""
    site = models.CharField(max_length=32)
    """The identifier of that site (`core.models.SiteIdentity`)."""
    version = models.CharField(max_length=40)
    """The version of the software that exported it there."""
    signing_keys = models.JSONField()
    """The public keys of that site, the oldest first: {"key", "date", "successor", "statement"}."""
    exported_at = models.DateTimeField()
    imported_at = models.DateTimeField()

    class Meta:
        verbose_name = "origin of a competition"
        verbose_name_plural = "origins of competitions"
        ordering = ["competition"]

    def __str__(self) -> str:
        return f"origin of {self.competition}"


class FrozenLeaderboards(models.Model):
    """The freeze of a competition's public leaderboards. There is a row while they are frozen."""

    competition = models.OneToOneField(
        Competition, primary_key=True, on_delete=models.CASCADE, related_name="frozen_leaderboards"
    )
    since = models.DateTimeField()

    class Meta:
        verbose_name_plural = "frozen leaderboards"
        ordering = ["competition"]

    def __str__(self) -> str:
        return f"frozen leaderboards of {self.competition}"


class Organiser(models.Model):
    """The role of a person in a competition; `core.roles` says what it allows."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="organiser_roles")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="organiser_roles")
    role = models.CharField(max_length=10, choices=OrganiserRole.choices, default=OrganiserRole.ORGANISER)

    class Meta:
        constraints = [UniqueConstraint(fields=["competition", "user"], name="organiser_once_per_competition")]

    def __str__(self) -> str:
        return f"{self.user}, {self.role} of {self.competition}"


class Track(models.Model):
    """A track: what is submitted and how it is scored. `name` is used in addresses and manifests."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="tracks")
    name = models.CharField(max_length=16, choices=track_choices)
    title = models.CharField(max_length=80)
    text = models.TextField(blank=True, help_text="Markdown.")
    quota = models.PositiveSmallIntegerField(default=5, help_text="Submissions per team in any 24 hours.")
    baselines = models.JSONField(
        default=list,
        blank=True,
        help_text="Names of bundled submissions that form the first pool, until a round creates the next one.",
    )
    own_baselines = models.JSONField(default=dict, blank=True, editable=False)
    """The baselines that are directories of organisers, by name: the fields of `baseline_files.OwnBaseline`."""

    class Meta:
        ordering = ["pk"]
        constraints = [UniqueConstraint(fields=["competition", "name"], name="one_track_per_name")]

    def __str__(self) -> str:
        return f"{self.competition.slug}/{self.name}"


class RulesVersion(models.Model):
    """A version of the rules as values. It never changes; a change creates a new version. Scores refer to a version."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="rules_versions")
    version = models.PositiveIntegerField()
    values = models.JSONField(
        help_text="Values of the rules of its format in evaluation.domain, least_accuracy and counting_submission."
    )
    note = models.TextField(blank=True, help_text="What changed and why.")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-version"]
        constraints = [UniqueConstraint(fields=["competition", "version"], name="rules_version_once")]

    def __str__(self) -> str:
        return f"{self.competition.slug} rules {self.version}"

    @cached_property
    def engine_rules(self) -> Rules:
        """The rules as the engine takes them, read once. Reading raises `Refusal` for a wrong value."""
        return rules_of(self.values, self.version)

    def rules_as(self, kind: type[OfFormat]) -> OfFormat:
        """Return the rules as the engine takes them; raise `Refusal` for those of another format than `kind` is of."""
        rules = self.engine_rules
        if not isinstance(rules, kind):
            fix = f"use a competition of the {kind.format} format"
            raise Refusal(f"these rules are of the {rules.format} format", fix=fix)
        return rules


class SampleSet(models.Model):
    """Samples of one purpose, imported once. Images, labels and targets are in the object store under `digest`."""

    class Purpose(models.TextChoices):
        DEVELOPMENT = "development", "development (public)"
        VALIDATION = "validation", "validation (secret)"
        TEST = "test", "test (secret)"
        FINAL = "final", "final (secret)"

    class Order(models.TextChoices):
        PUBLISHED = "published", "as in the data set"
        SECRET = "secret", "shuffled by the competition's secret salt"

    MAX_SPLIT = 60
    """Characters of the name of a split, which an uploaded archive may choose."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="sample_sets")
    name = models.SlugField(max_length=40)
    purpose = models.CharField(max_length=12, choices=Purpose.choices)
    source = models.CharField(max_length=300, help_text='A data set for evaluation.datasets, for example "digits".')
    split = models.CharField(max_length=MAX_SPLIT)
    order = models.CharField(
        max_length=9,
        choices=Order.choices,
        default=Order.PUBLISHED,
        help_text="The order of the split from which skip and count take their part.",
    )
    skip = models.PositiveIntegerField(default=0, help_text="Samples to leave out at the beginning of that order.")
    count = models.PositiveIntegerField()
    target_seed = models.BigIntegerField(help_text="Seed for the target classes of targeted attacks.")
    digest = models.CharField(max_length=64, editable=False)
    class_names = models.JSONField(default=list, editable=False)
    imported_at = models.DateTimeField()
    drawn_from = models.ForeignKey(
        "self", null=True, blank=True, editable=False, on_delete=models.PROTECT, related_name="draws"
    )
    """The imported set that this set of a round was drawn from, in a secret order."""
    replaces = models.ForeignKey(
        "self", null=True, blank=True, editable=False, on_delete=models.PROTECT, related_name="replaced_by"
    )
    """The validation set that this set replaced after a round. The site drew it at random from unused images of the
    same split, so `skip` is not used."""

    images_public_since = models.DateTimeField(null=True, blank=True, editable=False)
    """Time since which its images are public. They can never be secret samples again, even after a withdrawal."""

    class Meta:
        ordering = ["pk"]
        constraints = [UniqueConstraint(fields=["competition", "name"], name="sample_set_name_once")]

    def __str__(self) -> str:
        return f"{self.competition.slug}/{self.name}"

    @property
    def secret(self) -> bool:
        """True if players see its images only through the referee."""
        return self.purpose != self.Purpose.DEVELOPMENT


class FreezeWindow(models.Model):
    """A period in which code can be pushed, but no submission is accepted."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="freeze_windows")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=200, help_text="Shown to teams, for example: development round 1.")
    called_off_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Time at which it was called off, or None. It then has no effect; its times stay as planned."""
    earlier_values = models.JSONField(default=list, editable=False)
    """Its times and reason before each change by an organiser. An import does not plan such a window again."""

    class Meta:
        ordering = ["starts_at"]
        constraints = [models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="window_ends_after_start")]

    def __str__(self) -> str:
        return f"{self.competition.slug}: {self.reason}"

    @classmethod
    def in_force(cls, windows: Iterable[Self], at: datetime) -> Self | None:
        """Return the window in force at `at`, from its start to before its end; of several, the last to end.

        Windows that were called off are ignored.
        """
        active = [each for each in windows if each.called_off_at is None and each.starts_at <= at < each.ends_at]
        return max(active, key=lambda window: window.ends_at, default=None)


class Entry(models.Model):
    """A team in a competition. A team can enter only one, since its addresses do not name the competition."""

    team = models.OneToOneField(Team, on_delete=models.PROTECT, related_name="entry")
    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="entries")
    ineligible_for_prizes = models.BooleanField(default=False)
    low_priority = models.BooleanField(
        default=False,
        help_text="For teams of the organisers: their builds and matches run after those of other teams.",
    )
    joined_at = models.DateTimeField()
    slug_of_origin = models.CharField(max_length=40, blank=True, editable=False)
    """The team's slug on the site on which an imported competition was played, where it had to get another one."""

    class Meta:
        ordering = ["joined_at", "pk"]
        verbose_name_plural = "entries"

    def __str__(self) -> str:
        return f"{self.team.slug} in {self.competition.slug}"
