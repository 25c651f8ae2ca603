"""What workers do for submissions. Every task is safe to run twice and safe to be lost."""

from __future__ import annotations

from celery import shared_task

from submissions import build_queue, image_collection, pipeline, services


@shared_task(name="submissions.build")  # type: ignore[untyped-decorator]
def build(submission: int) -> None:
    """Build and check a submission that was received: this one, or one that comes before it."""
    pipeline.advance(submission)


@shared_task(name="submissions.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Find what is due from the database alone."""
    build_queue.sweep()
    services.settle_reservations()


@shared_task(name="submissions.settle_late_tags")  # type: ignore[untyped-decorator]
def settle_late_tags() -> None:
    """Find tags that arrived although their push was given up."""
    services.settle_late_tags()


@shared_task(name="submissions.collect_images")  # type: ignore[untyped-decorator]
def collect_images() -> None:
    """Remove images and checkouts that nobody needs, and keep for all hosts what this one built."""
    image_collection.collect()
    image_collection.keep()
