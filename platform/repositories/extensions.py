"""What repositories add to lower apps, connected by `RepositoriesConfig.ready`."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from django.db import transaction
from django.db.models import Q, QuerySet

from competitions.extension_points import Records, deleted_with, records_of
from competitions.models import Competition
from core.site_identity import has_files
from repositories.models import PushCost, Repository

_NEWEST = 20
"""Number of repositories that are looked for."""


@has_files.add
def has_repositories() -> bool | None:
    """Return whether the folder of one of the repositories pushed to last exists; None if there is none."""
    pushed = Repository.objects.filter(pushed_at__isnull=False).order_by("-pushed_at")[:_NEWEST]
    found = [repository.path.is_dir() for repository in pushed]
    return any(found) if found else None


@records_of.add
def pushed_repositories(competition: Competition) -> Records:
    """Return how many repositories of the competition have had a push, or have one now."""
    # locked: a push reserves its slot under the same lock
    repositories = Repository.objects.filter(entry__competition=competition)
    list(repositories.select_for_update(of=("self",)).order_by("pk"))
    going_on = PushCost.objects.filter(ended_at=None).values("team")
    pushed = repositories.filter(Q(pushed_at__isnull=False) | Q(entry__team__in=going_on))
    return Records(pushed.count(), "repository with code of a team")


@deleted_with.add
def unused_repositories(competition: Competition) -> list[QuerySet[Repository]]:
    """Return the repositories, and remove their folders once they are deleted."""
    repositories = Repository.objects.filter(entry__competition=competition)
    transaction.on_commit(partial(_remove, [each.path for each in repositories]))
    return [repositories]


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
