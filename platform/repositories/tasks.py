"""What workers do for repositories. Safe to run twice and safe to be lost."""

from __future__ import annotations

import logging

from celery import shared_task

from core import faults
from repositories.http.push_lock import clean_up as tidy_up
from repositories.models import Repository
from repositories.services import record_size

log = logging.getLogger(__name__)


@shared_task(name="repositories.clean_up")  # type: ignore[untyped-decorator]
def clean_up() -> None:
    """Tidy up every repository to which nobody pushes just now, as the last of several pushes does, and measure it."""
    for repository in Repository.objects.iterator():
        if not repository.path.exists():
            continue
        try:
            tidy_up(repository.path)
            record_size(repository)
        except OSError as error:  # whatever it is, the others are tidied
            faults.report(log, error, "%s cannot be tidied", repository)
