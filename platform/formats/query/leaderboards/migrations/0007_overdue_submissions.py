"""Move the times at which evaluations were overdue to their submissions."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models import Max


def move(apps: Any, schema_editor: Any) -> None:
    """Copy the newest time of each submission."""
    rows = apps.get_model("leaderboards", "Evaluation").objects.exclude(overdue_at=None).order_by()
    submissions = apps.get_model("submissions", "Submission").objects
    for submission, at in rows.values_list("submission").annotate(Max("overdue_at")):
        submissions.filter(pk=submission).update(overdue_at=at)


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0006_titles_of_opponents"), ("submissions", "0012_evaluation_faults")]

    operations = [
        migrations.RunPython(move, migrations.RunPython.noop),
        migrations.RemoveField("evaluation", "overdue_at"),
    ]
