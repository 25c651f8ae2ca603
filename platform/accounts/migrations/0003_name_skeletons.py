from __future__ import annotations

from typing import Any

from django.db import migrations, models

from accounts.names import skeleton


def fill(apps: Any, schema_editor: Any) -> None:
    """Give what is there its skeletons. Of names that look the same, the oldest keeps the plain one."""
    for user in apps.get_model("accounts", "User").objects.all():
        user.username_skeleton = skeleton(user.username)
        user.save(update_fields=["username_skeleton"])
    seen: set[tuple[str, str]] = set()
    for team in apps.get_model("accounts", "Team").objects.order_by("created_at", "pk"):
        for column in ("slug", "name"):
            found = skeleton(getattr(team, column))
            if (column, found) in seen:
                found = f"{found}\n{team.pk}"  # no name holds a line feed
            seen.add((column, found))
            setattr(team, f"{column}_skeleton", found)
        team.save(update_fields=["slug_skeleton", "name_skeleton"])


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_invitation")]

    operations = [
        migrations.AddField("user", "username_skeleton", models.TextField(db_index=True, default="", editable=False)),
        migrations.AddField(
            "team", "slug_skeleton", models.TextField(default="", editable=False), preserve_default=False
        ),
        migrations.AddField(
            "team", "name_skeleton", models.TextField(default="", editable=False), preserve_default=False
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("team", "slug_skeleton", models.TextField(editable=False, unique=True)),
        migrations.AlterField("team", "name_skeleton", models.TextField(editable=False, unique=True)),
    ]
