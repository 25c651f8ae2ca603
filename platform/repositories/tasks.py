"""Celery tasks of repositories. Idempotent; a lost one does no harm."""

from __future__ import annotations

import logging

from celery import shared_task

from core import platform_error_report
from repositories import push_budget, services
from repositories.models import Repository

log = logging.getLogger(__name__)


@shared_task(name="repositories.clean_up")  # type: ignore[untyped-decorator]
def clean_up() -> None:
    """Clean up every repository that nobody pushes to now, and record its size; forget what old pushes cost."""
    push_budget.forget_old_costs()
    for repository in Repository.objects.iterator():
        if not repository.path.exists():
            continue
        try:
            services.clean_up(repository)
        except OSError as error:  # continue with the other repositories
            platform_error_report.report(log, error, "%s cannot be cleaned up", repository)
