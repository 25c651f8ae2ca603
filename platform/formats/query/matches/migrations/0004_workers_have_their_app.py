"""Workers and their time move to the app `workers`: their tables get its names."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("matches", "0003_audits")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable("worker", "workers_worker"),
                migrations.AlterModelTable("workertime", "workers_workertime"),
            ]
        )
    ]
