"""Keep with an entry whether the outcome of its round names the submission."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rounds", "0008_objections")]

    operations = [
        migrations.AddField("roundentry", "title_hidden", models.BooleanField(default=False, editable=False)),
    ]
