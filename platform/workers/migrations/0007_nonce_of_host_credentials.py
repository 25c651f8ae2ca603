from __future__ import annotations

from django.db import migrations, models

import core.signed_keys


class Migration(migrations.Migration):
    """Give new rows a nonce. Those that exist keep the keys that were sent, without one."""

    dependencies = [
        ("workers", "0006_stopped_workers"),
    ]

    operations = [
        migrations.AddField(
            model_name="hostcredential",
            name="nonce",
            field=models.CharField(blank=True, default="", editable=False, max_length=16),
        ),
        migrations.AlterField(
            model_name="hostcredential",
            name="nonce",
            field=models.CharField(blank=True, default=core.signed_keys.new_nonce, editable=False, max_length=16),
        ),
    ]
