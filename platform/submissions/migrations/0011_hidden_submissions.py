"""Let organisers hide submissions: their titles are set aside."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0010_submissions_as_baselines")]

    operations = [
        migrations.AddField("submission", "hidden_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("submission", "hidden_for", models.TextField(blank=True)),
        migrations.AddField("submission", "given_title", models.CharField(blank=True, editable=False, max_length=120)),
        migrations.AddField("player", "given_title", models.CharField(blank=True, editable=False, max_length=120)),
    ]
