"""Imported competitions name the site on which they were played."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0013_repeated_data_set_uploads")]

    operations = [
        migrations.CreateModel(
            name="CompetitionOrigin",
            fields=[
                (
                    "competition",
                    models.OneToOneField(
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="origin",
                        serialize=False,
                        to="competitions.competition",
                    ),
                ),
                ("slug", models.SlugField(max_length=60)),
                ("address", models.CharField(max_length=300)),
                ("site", models.CharField(max_length=32)),
                ("version", models.CharField(max_length=40)),
                ("signing_keys", models.JSONField()),
                ("exported_at", models.DateTimeField()),
                ("imported_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "origin of a competition",
                "verbose_name_plural": "origins of competitions",
                "ordering": ["competition"],
            },
        ),
        migrations.AddField(
            model_name="entry",
            name="slug_of_origin",
            field=models.CharField(blank=True, editable=False, max_length=40),
        ),
    ]
