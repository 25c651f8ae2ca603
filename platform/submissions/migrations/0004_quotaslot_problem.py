from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0003_host"),
    ]

    operations = [
        migrations.AddField(
            model_name="quotaslot",
            name="problem",
            field=models.TextField(blank=True),
        ),
    ]
