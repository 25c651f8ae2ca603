"""Let owners archive competitions."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0010_roles")]

    operations = [
        migrations.AddField(
            model_name="competition",
            name="archived_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
