"""Standings have the number of submissions that a team could choose from."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0004_freezes_moved")]

    operations = [
        migrations.AddField(
            model_name="standing",
            name="tried",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
    ]
