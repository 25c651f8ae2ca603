from __future__ import annotations

from django.db import migrations, models

import competitions.formats
import competitions.models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0003_development_rounds")]

    operations = [
        migrations.AlterField(
            model_name="competition",
            name="format",
            field=models.CharField(
                choices=competitions.formats.format_choices,
                default=competitions.models.default_format,
                editable=False,
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="track",
            name="name",
            field=models.CharField(choices=competitions.formats.track_choices, max_length=16),
        ),
    ]
