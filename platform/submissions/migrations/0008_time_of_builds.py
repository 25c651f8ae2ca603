"""Claims of builds read the hourly worker time and small indexes, not the builds of a day."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from core import clock

NOT_CHARGED = ["fault", "host", "lost", "overdue", "stopped"]
"""Outcomes that are nobody's fault or the platform's: they count against no team."""


def count_builds(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make the worker time of the builds that ended within a day; earlier ones count no more."""
    builds = apps.get_model("submissions", "Build").objects.order_by()
    ended = builds.filter(finished_at__gt=clock.database_now() - timedelta(days=1)).exclude(outcome__in=NOT_CHARGED)
    rows = ended.values_list("submission__repository__entry", "started_at", "finished_at")
    seconds: defaultdict[tuple[int, datetime], float] = defaultdict(float)
    for entry, began, end in rows.iterator(chunk_size=10_000):
        seconds[entry, end.replace(minute=0, second=0, microsecond=0)] += max(0.0, (end - began).total_seconds())
    worker_time = apps.get_model("workers", "WorkerTime")
    worker_time.objects.bulk_create(
        (
            worker_time(role="build", entry_id=entry, hour=hour, seconds=spent)
            for (entry, hour), spent in seconds.items()
        ),
        batch_size=1000,
    )


def forget_builds(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Delete the worker time of builds: an earlier version has no role to tell it apart by."""
    apps.get_model("workers", "WorkerTime").objects.filter(role="build").delete()


class Migration(migrations.Migration):
    dependencies = [("submissions", "0007_tracks_of_the_registry"), ("workers", "0002_time_of_each_role")]

    operations = [
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("state", "received")), fields=["repository", "id"], name="submission_waiting"
            ),
        ),
        migrations.AddIndex(
            model_name="build",
            index=models.Index(
                condition=models.Q(("lease_until__isnull", False)), fields=["lease_until"], name="build_held"
            ),
        ),
        migrations.AddIndex(
            model_name="build",
            index=models.Index(
                condition=models.Q(("outcome__in", ["fault", "host", "lost", "overdue"])),
                fields=["finished_at"],
                name="build_fault",
            ),
        ),
        migrations.RunPython(count_builds, forget_builds),
    ]
