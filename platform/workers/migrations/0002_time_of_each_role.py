"""Worker time is counted for each role: so far only workers that play had rows."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0001_initial")]

    operations = [
        migrations.RemoveConstraint(model_name="workertime", name="worker_time_once_per_hour"),
        migrations.RemoveConstraint(model_name="workertime", name="worker_time_of_nobody_once_per_hour"),
        migrations.AddField(
            model_name="workertime",
            name="role",
            field=models.CharField(default="play", max_length=10),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="workertime",
            constraint=models.UniqueConstraint(fields=("entry", "role", "hour"), name="worker_time_once_per_hour"),
        ),
        migrations.AddConstraint(
            model_name="workertime",
            constraint=models.UniqueConstraint(
                condition=models.Q(("entry", None)),
                fields=("role", "hour"),
                name="worker_time_of_nobody_once_per_hour",
            ),
        ),
    ]
