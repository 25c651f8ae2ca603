from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0012_evaluation_faults"),
    ]

    operations = [
        migrations.AddField(
            model_name="player",
            name="replaced_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
