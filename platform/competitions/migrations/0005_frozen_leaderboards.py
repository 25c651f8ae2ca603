"""Freezes of leaderboards, in the table that earlier versions made in the app `leaderboards`."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0004_formats_of_the_registry"), ("leaderboards", "0003_freezes_move")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="FrozenLeaderboards",
                    fields=[
                        (
                            "competition",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="frozen_leaderboards",
                                serialize=False,
                                to="competitions.competition",
                            ),
                        ),
                        ("since", models.DateTimeField()),
                    ],
                    options={"verbose_name_plural": "frozen leaderboards", "ordering": ["competition"]},
                )
            ]
        )
    ]
