"""Keep on a submission when work was given up that its score waits for."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0011_hidden_submissions")]

    operations = [
        migrations.AddField("submission", "evaluation_fault_at", models.DateTimeField(blank=True, null=True)),
    ]
