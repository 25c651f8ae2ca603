"""Write the e-mail addresses of accounts in lower case, as `User.save` does."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models.functions import Lower


def lower(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Change addresses that have capital letters."""
    users = apps.get_model("accounts", "User").objects
    users.exclude(email=Lower("email")).update(email=Lower("email"))


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_nonce_of_sign_up_links")]

    operations = [migrations.RunPython(lower, migrations.RunPython.noop)]
