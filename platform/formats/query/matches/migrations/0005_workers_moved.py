"""Pieces refer to the workers of the app `workers`."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("matches", "0004_workers_have_their_app"), ("workers", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "piece",
                    "worker",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="pieces",
                        to="workers.worker",
                    ),
                ),
                migrations.DeleteModel("Worker"),
                migrations.DeleteModel("WorkerTime"),
            ]
        )
    ]
