"""Celery tasks of matches. Messages only wake workers: the state is in the database."""

from __future__ import annotations

import logging

from celery import shared_task

from formats.query.matches import kept_frames, piece_queue

log = logging.getLogger(__name__)


@shared_task(name="matches.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Finish matches whose pieces are played, and fail those with a piece that was given up."""
    piece_queue.finish_played()
    piece_queue.fail_given_up()


@shared_task(name="matches.sweep_kept_frames")  # type: ignore[untyped-decorator]
def sweep_kept_frames() -> None:
    """Remove the frames, which hold secret samples, that no audit will need."""
    if count := kept_frames.sweep():
        log.info("%d files of frames that no audit needs were removed", count)
