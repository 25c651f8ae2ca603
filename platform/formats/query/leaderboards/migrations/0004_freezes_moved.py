"""The app `competitions` has the freezes of leaderboards."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0003_freezes_move"), ("competitions", "0005_frozen_leaderboards")]

    operations = [migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("FrozenLeaderboards")])]
