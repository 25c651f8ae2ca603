"""Move the times at which benchmarks were given up to their submissions."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models import Max


def move(apps: Any, schema_editor: Any) -> None:
    """Copy the newest time of each submission."""
    rows = apps.get_model("curves_format", "Benchmark").objects.exclude(given_up_at=None).filter(round=None).order_by()
    submissions = apps.get_model("submissions", "Submission").objects
    for submission, at in rows.values_list("submission").annotate(Max("given_up_at")):
        submissions.filter(pk=submission).update(evaluation_fault_at=at)


class Migration(migrations.Migration):
    dependencies = [("curves_format", "0004_given_up_benchmarks"), ("submissions", "0012_evaluation_faults")]

    operations = [
        migrations.RunPython(move, migrations.RunPython.noop),
        migrations.RemoveField("benchmark", "given_up_at"),
    ]
