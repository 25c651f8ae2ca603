"""Freezes of leaderboards move to the app `competitions`, as they concern every format: their table gets its name."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0002_submission_choices")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable("frozenleaderboards", "competitions_frozenleaderboards"),
            ]
        )
    ]
