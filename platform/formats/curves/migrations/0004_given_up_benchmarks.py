from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("curves_format", "0003_unranked_priority"),
    ]

    operations = [
        migrations.AddField(
            model_name="benchmark",
            name="given_up_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
