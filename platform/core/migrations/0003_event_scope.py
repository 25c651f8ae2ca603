from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0002_site_identity")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="scope",
            field=models.CharField(blank=True, db_index=True, default="", max_length=80),
            preserve_default=False,
        ),
    ]
