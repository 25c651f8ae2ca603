"""Workers, their time and their hosts, in the tables that earlier versions made in the apps `matches` and `submissions`."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("competitions", "0003_development_rounds"),
        ("matches", "0004_workers_have_their_app"),
        ("submissions", "0005_hosts_have_their_app"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Worker",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=120, unique=True)),
                        ("worker_class", models.CharField(choices=[("cpu", "CPU"), ("gpu", "GPU")], max_length=3)),
                        ("device", models.CharField(blank=True, max_length=20)),
                        ("calibration", models.FloatField(default=1.0)),
                        ("started_at", models.DateTimeField()),
                        ("last_seen_at", models.DateTimeField()),
                        ("clock_skew", models.FloatField(default=0.0)),
                    ],
                    options={"ordering": ["name"]},
                ),
                migrations.CreateModel(
                    name="Host",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=120, unique=True)),
                        ("out_since", models.DateTimeField(blank=True, null=True)),
                        ("problem", models.TextField(blank=True)),
                        ("check_due_at", models.DateTimeField(blank=True, null=True)),
                        ("failed_checks", models.PositiveIntegerField(default=0)),
                    ],
                    options={"ordering": ["name"]},
                ),
                migrations.CreateModel(
                    name="WorkerTime",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("hour", models.DateTimeField()),
                        ("seconds", models.FloatField(default=0.0)),
                        (
                            "entry",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="worker_times",
                                to="competitions.entry",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-hour", "entry"],
                        "constraints": [
                            models.UniqueConstraint(fields=("entry", "hour"), name="worker_time_once_per_hour"),
                            models.UniqueConstraint(
                                condition=models.Q(("entry", None)),
                                fields=("hour",),
                                name="worker_time_of_nobody_once_per_hour",
                            ),
                        ],
                    },
                ),
            ]
        )
    ]
