"""Celery tasks of matches. Messages only wake workers: the state is in the database."""

from __future__ import annotations

from celery import shared_task

from matches import queue


@shared_task(name="matches.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Finish matches whose pieces are played, and fail those with a piece that was given up."""
    queue.finish_played()
    queue.fail_given_up()
