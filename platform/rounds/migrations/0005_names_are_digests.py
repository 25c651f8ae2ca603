from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def note_what_was_committed_to_digests(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Rounds that are frozen by now keep the names that they were committed to."""
    rounds = apps.get_model("rounds", "Round").objects
    rounds.exclude(state__in=["planned", "cancelled"]).update(names_are_digests=True)


class Migration(migrations.Migration):
    dependencies = [
        ("rounds", "0004_images_that_were_released"),
    ]

    operations = [
        migrations.AddField(
            model_name="round",
            name="names_are_digests",
            field=models.BooleanField(default=False, editable=False),
        ),
        migrations.RunPython(note_what_was_committed_to_digests, migrations.RunPython.noop),
    ]
