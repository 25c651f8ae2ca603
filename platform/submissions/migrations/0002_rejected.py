from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

STATES = [
    ("received", "received"),
    ("building", "building"),
    ("checking", "checking"),
    ("ready", "ready"),
    ("rejected", "rejected"),
    ("withdrawn", "withdrawn"),
]


def _rename(apps: Apps, before: str, after: str) -> None:
    apps.get_model("submissions", "Submission").objects.filter(state=before).update(state=after)
    slots = apps.get_model("submissions", "QuotaSlot").objects
    slots.filter(reason=f"build_{before}").update(reason=f"build_{after}")


def forwards(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rename(apps, "refused", "rejected")


def backwards(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rename(apps, "rejected", "refused")


def _constraint(state: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(
        condition=models.Q(("state__in", [state, "withdrawn"]), _negated=True),
        fields=("repository", "commit"),
        name="commit_under_way_or_ready_once",
    )


class Migration(migrations.Migration):
    # PostgreSQL alters no table with pending trigger events of the same transaction
    atomic = False

    dependencies = [("submissions", "0001_initial")]

    operations = [
        migrations.RemoveConstraint(model_name="submission", name="commit_under_way_or_ready_once"),
        migrations.RunPython(forwards, backwards),
        migrations.AddConstraint(model_name="submission", constraint=_constraint("rejected")),
        migrations.AlterField(
            model_name="submission",
            name="state",
            field=models.CharField(choices=STATES, db_index=True, default="received", max_length=10),
        ),
    ]
