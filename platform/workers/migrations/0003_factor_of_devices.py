"""GPUs have a factor of their own."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workers", "0002_time_of_each_role")]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="device_calibration",
            field=models.FloatField(blank=True, null=True),
        ),
    ]
