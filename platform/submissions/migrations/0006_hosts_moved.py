"""Hosts belong to the app `workers`."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("submissions", "0005_hosts_have_their_app"), ("workers", "0001_initial")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("Host")])]
