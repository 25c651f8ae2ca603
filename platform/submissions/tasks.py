"""Celery tasks of submissions. All are idempotent; a lost one does no harm."""

from __future__ import annotations

from celery import shared_task

from submissions import build_queue, pipeline, quota_ledger, smoke_test_pictures, unused_image_removal
from submissions.evaluation_refunds import refund_overdue
from submissions.quota_ledger import settle_reservations


@shared_task(name="submissions.build")  # type: ignore[untyped-decorator]
def build(submission: int) -> None:
    """Build and check the next waiting submission, which need not be the one that is named."""
    pipeline.advance()


@shared_task(name="submissions.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Handle everything that is due, from the database alone."""
    build_queue.sweep()
    settle_reservations()
    refund_overdue()


@shared_task(name="submissions.settle_late_tags")  # type: ignore[untyped-decorator]
def settle_late_tags() -> None:
    """Settle tags that arrived after their push was given up."""
    quota_ledger.settle_late_tags()


@shared_task(name="submissions.collect_images")  # type: ignore[untyped-decorator]
def collect_images() -> None:
    """Remove unused images, checkouts and old pictures, and store what this host built for all hosts."""
    smoke_test_pictures.remove_old()  # first: the others need the engine
    unused_image_removal.collect()
    unused_image_removal.keep()
