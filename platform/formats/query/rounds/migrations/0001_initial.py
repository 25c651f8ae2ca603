"""The app `query_rounds` has what the query format keeps of a round; the tables were those of `rounds`."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("competitions", "0005_frozen_leaderboards"),
        ("leaderboards", "0004_freezes_moved"),
        ("matches", "0006_priorities"),
        ("rounds", "0005_models_of_the_query_format_move"),
        ("submissions", "0006_hosts_moved"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="RoundMatch",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("images", models.CharField(blank=True, editable=False, max_length=64)),
                        ("samples", models.PositiveIntegerField(blank=True, null=True)),
                        ("median", models.FloatField(blank=True, null=True)),
                        ("held", models.PositiveIntegerField(blank=True, null=True)),
                        (
                            "match",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="round_match",
                                to="matches.match",
                            ),
                        ),
                        (
                            "round",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="round_matches",
                                to="rounds.round",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name_plural": "round matches",
                        "ordering": ["pk"],
                    },
                ),
                migrations.CreateModel(
                    name="RoundStage",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("bracket", models.CharField(max_length=16)),
                        ("number", models.PositiveSmallIntegerField()),
                        ("samples", models.PositiveIntegerField()),
                        ("ordered_by", models.CharField(max_length=9)),
                        ("panel", models.JSONField()),
                        ("counted", models.JSONField()),
                        ("loop", models.PositiveSmallIntegerField()),
                        ("renewed", models.BooleanField()),
                        (
                            "round",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="stages", to="rounds.round"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["round", "-bracket", "number"],
                    },
                ),
                migrations.CreateModel(
                    name="Decision",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("place", models.PositiveIntegerField()),
                        ("value", models.FloatField(blank=True, null=True)),
                        ("cut_line", models.FloatField(blank=True, null=True)),
                        ("kept", models.BooleanField()),
                        ("spared", models.BooleanField(default=False)),
                        ("inconsistent", models.BooleanField(default=False)),
                        (
                            "player",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="decisions",
                                to="submissions.player",
                            ),
                        ),
                        (
                            "track",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="decisions",
                                to="competitions.track",
                            ),
                        ),
                        (
                            "stage",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="decisions",
                                to="query_rounds.roundstage",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["stage", "track", "place"],
                    },
                ),
                migrations.CreateModel(
                    name="RoundWarning",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("nearer", models.PositiveIntegerField()),
                        ("samples", models.PositiveIntegerField()),
                        ("median", models.FloatField(blank=True, null=True)),
                        (
                            "attack",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="submissions.player"
                            ),
                        ),
                        (
                            "model",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="submissions.player"
                            ),
                        ),
                        (
                            "round",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="warnings", to="rounds.round"
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["round", "pk"],
                    },
                ),
                migrations.CreateModel(
                    name="GonePlayer",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "player",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="submissions.player"
                            ),
                        ),
                        (
                            "round",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="gone_players",
                                to="rounds.round",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["pk"],
                        "unique_together": {("round", "player")},
                    },
                ),
                migrations.CreateModel(
                    name="RoundPool",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "pool",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="rounds",
                                to="leaderboards.pool",
                            ),
                        ),
                        (
                            "round",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="round_pools",
                                to="rounds.round",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["pk"],
                        "unique_together": {("round", "pool")},
                    },
                ),
                migrations.AddConstraint(
                    model_name="roundstage",
                    constraint=models.UniqueConstraint(
                        fields=("round", "bracket", "number"), name="stage_once_per_round"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="decision",
                    constraint=models.UniqueConstraint(
                        fields=("stage", "player"), name="player_decided_once_per_stage"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="roundwarning",
                    constraint=models.UniqueConstraint(
                        fields=("round", "model", "attack"), name="warned_once_per_round"
                    ),
                ),
            ]
        )
    ]
