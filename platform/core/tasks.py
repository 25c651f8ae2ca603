"""Celery tasks of what all apps share. A lost one does no harm."""

from __future__ import annotations

from celery import shared_task

from core import table_versions


@shared_task(name="core.fold_table_changes")  # type: ignore[untyped-decorator]
def fold_table_changes() -> None:
    """Keep the table of changes small, so that versions are read fast."""
    table_versions.fold()
