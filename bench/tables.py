"""The tables of a new site. Import only after Django's settings are named."""

from __future__ import annotations

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test.utils import override_settings

from bench.sizes import sized


def make_tables() -> None:
    """Make the tables by the migrations; at the smallest size from the models, for a tenth of the processor time."""
    sized(migrate, smallest=make_tables_of_models)()


def migrate() -> None:
    """Make the tables by the migrations, as an operator does."""
    call_command("migrate", verbosity=0)


def make_tables_of_models() -> None:
    """Make the tables that the models describe, and record every migration as applied: the site looks for them."""
    with override_settings(MIGRATION_MODULES={app.label: None for app in apps.get_app_configs()}):
        call_command("migrate", run_syncdb=True, verbosity=0)
    recorder = MigrationRecorder(connection)
    recorder.ensure_schema()
    for app, name in MigrationLoader(None).disk_migrations:
        recorder.record_applied(app, name)
