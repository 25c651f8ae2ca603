"""A tournament names its round: the column moves from the table of rounds, which every format has."""

from __future__ import annotations

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def name_rounds(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Copy the relation of each round to its tournament."""
    tournaments = apps.get_model("tournaments", "Tournament").objects.using(schema_editor.connection.alias)
    rounds = apps.get_model("rounds", "Round").objects.using(schema_editor.connection.alias)
    for round_, tournament in rounds.exclude(tournament=None).values_list("pk", "tournament"):
        tournaments.filter(pk=tournament).update(round=round_)


class Migration(migrations.Migration):
    dependencies = [
        ("tournaments", "0005_totals_of_pairs"),
        ("rounds", "0005_models_of_the_query_format_move"),
    ]

    operations = [
        migrations.AddField(
            model_name="tournament",
            name="round",
            field=models.OneToOneField(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="tournament",
                to="rounds.round",
            ),
        ),
        migrations.RunPython(name_rounds, migrations.RunPython.noop),
    ]
