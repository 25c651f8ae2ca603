"""Celery tasks of the curves format. Messages only wake workers: the work to do is in the database."""

from __future__ import annotations

from celery import shared_task

from formats.curves import requests_and_scores


@shared_task(name="curves.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Request what leaderboards lack, and score what was played, from the database alone."""
    requests_and_scores.sweep()
