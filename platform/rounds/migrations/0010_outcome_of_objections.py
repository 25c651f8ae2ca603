"""Keep with an objection which outcome of its round it concerns."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rounds", "0009_hidden_titles")]

    operations = [
        migrations.AddField(
            "objection",
            "outcome",
            models.CharField(blank=True, default="", editable=False, max_length=64),
            preserve_default=False,
        ),
    ]
