"""Pages, terms and announcements of competitions."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import Q, UniqueConstraint

MAX_TEXT = 100_000
"""Maximum number of characters of a text that organisers write."""


class Page(models.Model):
    """A page that organisers write: of a competition, or without one of the site, which superusers write."""

    class Name(models.TextChoices):
        PRIZES = "prizes", "Prizes"
        CONDUCT = "conduct", "Code of conduct"
        PRIVACY = "privacy", "Privacy"
        IMPRINT = "imprint", "Imprint"

    competition = models.ForeignKey(
        "competitions.Competition",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="pages",
        help_text="Empty: the site.",
    )
    name = models.CharField(max_length=12, choices=Name.choices)
    text = models.TextField(help_text="Markdown.", validators=[MaxLengthValidator(MAX_TEXT)])
    changed_at = models.DateTimeField(editable=False)

    class Meta:
        ordering = ["competition", "name"]
        constraints = [
            UniqueConstraint(fields=["competition", "name"], name="page_once_per_competition"),
            UniqueConstraint(
                fields=["name"],
                condition=Q(competition=None),
                name="page_once_per_site",
                violation_error_message="The site has this page. Change it.",
            ),
            models.CheckConstraint(
                condition=Q(competition__isnull=False) | ~Q(name="prizes"),
                name="prizes_of_a_competition",
                violation_error_message="Choose the competition of the prizes.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.competition.slug if self.competition else 'site'}: {self.get_name_display()}"


class TermsVersion(models.Model):
    """A version of the terms that teams accept. It never changes; a change creates a new version.

    A version without text ends the terms: nothing has to be accepted.
    """

    competition = models.ForeignKey("competitions.Competition", on_delete=models.CASCADE, related_name="terms_versions")
    version = models.PositiveIntegerField()
    text = models.TextField(
        blank=True,
        help_text="Markdown. Empty: teams have nothing to accept.",
        validators=[MaxLengthValidator(MAX_TEXT)],
    )
    digest = models.CharField(max_length=64, editable=False)
    """SHA-256 of the text. Teams that accepted the same text in an earlier version are not asked again."""
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-version"]
        constraints = [UniqueConstraint(fields=["competition", "version"], name="terms_version_once")]

    def __str__(self) -> str:
        return f"{self.competition.slug} terms {self.version}"


class TermsAcceptance(models.Model):
    """A captain's acceptance of a version of the terms, for the team."""

    entry = models.ForeignKey("competitions.Entry", on_delete=models.PROTECT, related_name="terms_acceptances")
    terms = models.ForeignKey(TermsVersion, on_delete=models.PROTECT, related_name="acceptances")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    accepted_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [UniqueConstraint(fields=["entry", "terms"], name="terms_accepted_once")]

    def __str__(self) -> str:
        return f"{self.entry.team.slug}: {self.terms}"


class Announcement(models.Model):
    """News of a competition. Before `published_at` only organisers see it."""

    competition = models.ForeignKey("competitions.Competition", on_delete=models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=120)
    text = models.TextField(help_text="Markdown.", validators=[MaxLengthValidator(MAX_TEXT)])
    published_at = models.DateTimeField(help_text="In UTC. Before this time only organisers see it.")
    changed_at = models.DateTimeField(editable=False)

    class Meta:
        ordering = ["-published_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.competition.slug}: {self.title}"
