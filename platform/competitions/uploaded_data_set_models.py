"""Data sets that were uploaded to the site, and their uploads."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models
from django.db.models import Q, UniqueConstraint

PREFIX = "uploaded:"
"""Of the source of a sample set whose images are taken from an uploaded data set."""

UPLOADS_FOLDER = "data-set-uploads"
"""The folder of uploaded archives in the state folder."""


class UploadedDataSet(models.Model):
    """Images of an uploaded archive, prepared in the folder "data-sets" of the state folder, for any competition."""

    name = models.SlugField(max_length=40, unique=True)
    licence = models.TextField(help_text="Licence and source of the images.")
    splits = models.JSONField()
    """Number of images by split."""
    class_names = models.JSONField()
    shape = models.JSONField()
    bytes = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64)
    """SHA-256 of the description of the prepared images, which names the hashes of all."""
    repeated = models.PositiveIntegerField()
    """Number of images that are equal to an earlier one of the same set."""
    shared = models.JSONField(default=dict)
    """Number of images that a sample set had already when it was uploaded, by the set's name."""
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    uploaded_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        verbose_name = "data set"

    def __str__(self) -> str:
        return self.name

    @property
    def source(self) -> str:
        """The value of `source` in a competition's file."""
        return f"{PREFIX}{self.name}"

    @property
    def folder(self) -> Path:
        """The folder of its prepared images, on every host with the state folder. Equal images share it."""
        return Path(settings.STATE) / "data-sets" / self.digest

    @property
    def images(self) -> int:
        """The number of images of all splits."""
        return sum(self.splits.values())


class DataSetUpload(models.Model):
    """An uploaded archive of images, and how far a worker is with it."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    OPEN = (State.QUEUED, State.RUNNING)

    name = models.SlugField(max_length=40)
    licence = models.TextField()
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED, db_index=True)
    images = models.PositiveIntegerField(default=0)
    """Number of images that were read."""
    total = models.PositiveIntegerField(null=True, blank=True)
    """Number of all images; None until the archive is unpacked."""
    attempts = models.PositiveSmallIntegerField(default=0)
    """How often a worker began it: once more after each that was stopped."""
    faults = models.PositiveSmallIntegerField(default=0)
    """How often a platform error kept a worker from preparing it."""
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    """Before it nothing is tried again after a platform error; None before the first."""
    given_up = models.BooleanField(default=False)
    """Whether platform errors, not its content, made it fail."""
    problem = models.TextField(blank=True)
    """Why it failed or waits, and what to do; empty for all others."""
    file_name = models.CharField(max_length=40)
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    uploaded_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    data_set = models.ForeignKey(
        UploadedDataSet, null=True, blank=True, on_delete=models.SET_NULL, related_name="uploads"
    )

    class Meta:
        ordering = ["-pk"]
        constraints = [
            UniqueConstraint(
                fields=["name"], condition=Q(state__in=["queued", "running"]), name="one_open_upload_per_name"
            )
        ]

    def __str__(self) -> str:
        return f"upload {self.pk} of {self.name}"

    @property
    def archive(self) -> Path:
        """The uploaded archive, on hosts with the state folder, until the upload has ended."""
        return Path(settings.STATE) / UPLOADS_FOLDER / self.file_name
