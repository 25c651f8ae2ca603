from __future__ import annotations

from typing import Any

from django.db import migrations, models


def drop_triggers(apps: Any, schema_editor: Any) -> None:
    """Drop the triggers of `core.table_versions`, which write into the table that the migration takes back."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION IF EXISTS core_record_table_change CASCADE")
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%core_tablechange%'")
        for (name,) in cursor.fetchall():
            schema_editor.execute(f"DROP TRIGGER {schema_editor.quote_name(name)}")


class Migration(migrations.Migration):
    dependencies = [("core", "0003_event_scope")]

    operations = [
        migrations.CreateModel(
            name="TableChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table", models.CharField(max_length=63)),
                ("amount", models.BigIntegerField()),
            ],
            options={"ordering": ["pk"]},
        ),
        migrations.RunPython(migrations.RunPython.noop, drop_triggers),
    ]
