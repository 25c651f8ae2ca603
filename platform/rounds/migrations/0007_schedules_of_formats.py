"""The formats know which schedules there are. The column stays as it is."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rounds", "0006_models_of_formats_moved")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.AlterField("round", "schedule", models.CharField(max_length=8))]
        )
    ]
