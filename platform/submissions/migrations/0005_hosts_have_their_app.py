"""Hosts move to the app `workers`: their table gets its name."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("submissions", "0004_player_tree_digest")]

    operations = [
        migrations.SeparateDatabaseAndState(database_operations=[migrations.AlterModelTable("host", "workers_host")])
    ]
