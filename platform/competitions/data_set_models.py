"""Data sets that were uploaded to the site."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models

PREFIX = "uploaded:"
"""Of the source of a sample set whose images are taken from an uploaded data set."""


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
