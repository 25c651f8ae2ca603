"""Let uploads of data sets be tried again after platform errors."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0012_data_set_uploads")]

    operations = [
        migrations.AddField(
            model_name="datasetupload",
            name="faults",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="datasetupload",
            name="next_attempt_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="datasetupload",
            name="given_up",
            field=models.BooleanField(default=False),
        ),
    ]
