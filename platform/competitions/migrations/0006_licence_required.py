"""A licence policy of finals in which only open source takes part."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0005_frozen_leaderboards")]

    operations = [
        migrations.AlterField(
            model_name="competition",
            name="licence_policy",
            field=models.CharField(
                choices=[
                    ("any", "any licence"),
                    ("open-source", "an open-source licence, for the final"),
                    ("required", "an open-source licence, to take part in the final"),
                ],
                default="open-source",
                max_length=20,
            ),
        ),
    ]
