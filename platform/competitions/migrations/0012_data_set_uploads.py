"""Add the uploads of data sets, which workers prepare."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations, models
from django.db.models import Q
from django.db.models.deletion import SET_NULL


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0011_archived_competitions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DataSetUpload",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.SlugField(max_length=40)),
                ("licence", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[("queued", "queued"), ("running", "running"), ("done", "done"), ("failed", "failed")],
                        db_index=True,
                        default="queued",
                        max_length=7,
                    ),
                ),
                ("images", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("problem", models.TextField(blank=True)),
                ("file_name", models.CharField(max_length=40)),
                ("uploaded_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "data_set",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=SET_NULL,
                        related_name="uploads",
                        to="competitions.uploadeddataset",
                    ),
                ),
                (
                    "uploaded_by",
                    models.ForeignKey(null=True, on_delete=SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(("state__in", ["queued", "running"])),
                        fields=["name"],
                        name="one_open_upload_per_name",
                    )
                ],
            },
        ),
    ]
