from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models import OuterRef, Subquery

import core.clock


def fill(apps: Any, schema_editor: object) -> None:
    """Pieces are queued since their match was asked for."""
    match = apps.get_model("matches", "Match").objects.filter(pk=OuterRef("match"))
    pieces = apps.get_model("matches", "Piece").objects
    pieces.update(queued_at=Subquery(match.values("created_at")))


class Migration(migrations.Migration):
    dependencies = [("matches", "0001_initial")]

    operations = [
        migrations.AddField("piece", "queued_at", models.DateTimeField(default=core.clock.now)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            "piece", models.Index(fields=["state", "queued_at", "match", "number"], name="matches_pie_state_522a3b_idx")
        ),
    ]
