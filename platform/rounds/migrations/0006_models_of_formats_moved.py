"""The formats have what only they keep of a round."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

MOVED = ("roundmatch", "roundstage", "decision", "roundwarning")


def move_content_types(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Keep the permissions and log entries of the moved models."""
    types = apps.get_model("contenttypes", "ContentType").objects.using(schema_editor.connection.alias)
    types.filter(app_label="rounds", model__in=MOVED).update(app_label="query_rounds")


class Migration(migrations.Migration):
    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("query_rounds", "0001_initial"),
        ("rounds", "0005_models_of_the_query_format_move"),
        ("tournaments", "0006_round"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("Decision"),
                migrations.DeleteModel("RoundStage"),
                migrations.DeleteModel("RoundMatch"),
                migrations.DeleteModel("RoundWarning"),
                migrations.RemoveField("round", "pools"),
                migrations.RemoveField("round", "gone"),
            ]
        ),
        migrations.RemoveField("round", "tournament"),
        migrations.RunPython(move_content_types, migrations.RunPython.noop),
    ]
