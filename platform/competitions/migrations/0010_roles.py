"""Give each organiser a role: the first one of each competition owns it, the others are organisers."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models


def name_owners(apps: Any, schema_editor: Any) -> None:
    """Make the organiser who was appointed first the owner, so that somebody of each competition grants roles."""
    organisers = apps.get_model("competitions", "Organiser").objects
    first = organisers.order_by().values("competition").annotate(pk=models.Min("id")).values_list("pk", flat=True)
    organisers.filter(pk__in=list(first)).update(role="owner")


class Migration(migrations.Migration):
    dependencies = [("competitions", "0009_data_sets")]

    operations = [
        migrations.AddField(
            model_name="organiser",
            name="role",
            field=models.CharField(
                choices=[("owner", "Owner"), ("organiser", "Organiser"), ("judge", "Judge"), ("helper", "Helper")],
                default="organiser",
                max_length=10,
            ),
        ),
        migrations.RunPython(name_owners, migrations.RunPython.noop),
    ]
