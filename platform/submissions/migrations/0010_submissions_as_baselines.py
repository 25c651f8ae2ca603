"""Let organisers make submissions baselines of their tracks."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0009_pictures_of_smoke_tests")]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="baseline_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="submission",
            name="baseline_for",
            field=models.TextField(blank=True),
        ),
    ]
