"""What repositories add to lower apps, connected by `RepositoriesConfig.ready`."""

from __future__ import annotations

from core.site_identity import has_files
from repositories.models import Repository

_NEWEST = 20
"""Number of repositories that are looked for."""


@has_files.add
def has_repositories() -> bool | None:
    """Return whether the folder of one of the repositories pushed to last exists; None if there is none."""
    pushed = Repository.objects.filter(pushed_at__isnull=False).order_by("-pushed_at")[:_NEWEST]
    found = [repository.path.is_dir() for repository in pushed]
    return any(found) if found else None
