"""What only the query format keeps of a round moves to its own app `query_rounds`: the tables get its name."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rounds", "0004_committed_field_and_sweep")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable("roundmatch", "query_rounds_roundmatch"),
                migrations.AlterModelTable("roundstage", "query_rounds_roundstage"),
                migrations.AlterModelTable("decision", "query_rounds_decision"),
                migrations.AlterModelTable("roundwarning", "query_rounds_roundwarning"),
                migrations.AlterField(
                    "round",
                    "pools",
                    models.ManyToManyField(
                        db_table="query_rounds_roundpool",
                        editable=False,
                        related_name="rounds",
                        to="leaderboards.pool",
                    ),
                ),
                migrations.AlterField(
                    "round",
                    "gone",
                    models.ManyToManyField(
                        db_table="query_rounds_goneplayer", editable=False, related_name="+", to="submissions.player"
                    ),
                ),
            ]
        )
    ]
