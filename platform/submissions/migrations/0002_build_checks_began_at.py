from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models import F


def fill(apps: Any, schema_editor: object) -> None:
    """Builds that were checked before there was this column."""
    apps.get_model("submissions", "Build").objects.exclude(checks=[]).update(checks_began_at=F("finished_at"))


class Migration(migrations.Migration):
    dependencies = [("submissions", "0001_initial")]

    operations = [
        migrations.AddField("build", "checks_began_at", models.DateTimeField(blank=True, null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
