"""The tracks of players are those of the registered formats."""

from __future__ import annotations

from django.db import migrations, models

import competitions.formats


class Migration(migrations.Migration):
    dependencies = [("submissions", "0006_hosts_moved")]

    operations = [
        migrations.AlterField(
            model_name="player",
            name="track_name",
            field=models.CharField(choices=competitions.formats.track_choices, max_length=16),
        ),
    ]
