from __future__ import annotations

from typing import Any

from django.db import migrations, models


def rename(apps: Any, _: Any) -> None:
    apps.get_model("rounds", "Round").objects.filter(kind="top-five").update(kind="development")


def rename_back(apps: Any, _: Any) -> None:
    apps.get_model("rounds", "Round").objects.filter(kind="development").update(kind="top-five")


class Migration(migrations.Migration):
    dependencies = [
        ("rounds", "0002_transfer_format"),
    ]

    operations = [
        migrations.AlterField(
            model_name="round",
            name="kind",
            field=models.CharField(
                choices=[("development", "development round"), ("final", "final")],
                max_length=11,
            ),
        ),
        migrations.RunPython(rename, rename_back),
    ]
