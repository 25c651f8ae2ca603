from __future__ import annotations

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import competitions.models


def give_each_a_salt(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The column's default was computed once, for all rows that were there."""
    for competition in apps.get_model("competitions", "Competition").objects.all():
        competition.seed_salt = competitions.models.new_seed_salt()
        competition.save(update_fields=["seed_salt"])


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0003_smoke_opponent_and_skip"),
    ]

    operations = [
        migrations.AddField(
            model_name="competition",
            name="new_validation_set",
            field=models.BooleanField(
                default=True,
                help_text="After a round, draw a new validation set from further images of the split of the one in force, where there are enough.",
            ),
        ),
        migrations.AddField(
            model_name="competition",
            name="seed_salt",
            field=models.CharField(default=competitions.models.new_seed_salt, editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name="sampleset",
            name="replaces",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="replaced_by",
                to="competitions.sampleset",
            ),
        ),
        migrations.RunPython(give_each_a_salt, migrations.RunPython.noop),
    ]
