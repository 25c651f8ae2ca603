"""Celery tasks of competitions. Messages only wake workers: the work to do is in the database."""

from __future__ import annotations

from celery import shared_task

from competitions import uploaded_data_sets


@shared_task(name="competitions.prepare_data_sets")  # type: ignore[untyped-decorator]
def prepare_data_sets() -> None:
    """Prepare what was uploaded, also what a stopped worker left."""
    uploaded_data_sets.prepare_data_sets()
