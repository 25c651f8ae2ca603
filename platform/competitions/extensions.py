"""What competitions add to lower apps, connected by `CompetitionsConfig.ready`."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import Model

from competitions.models import Organiser, SampleSet
from core import object_store
from core.event_log import scope_of
from core.role_lookups import role_lookups
from core.roles import RIGHTS, OrganiserRole, Right, rights_of
from core.site_identity import has_files

_NEWEST = 20
"""Number of sample sets that are looked for."""


@rights_of.add
def allowed_to(user: AbstractBaseUser) -> frozenset[Right]:
    """Return what the user's roles in any competition allow."""
    held = Organiser.objects.filter(user_id=user.pk).values_list("role", flat=True).distinct()
    return frozenset().union(*(RIGHTS[OrganiserRole(role)] for role in held))


@scope_of.add
def competition_of(subject: Model) -> str:
    """Return the name of the competition of a row in the log: those who see the row in the admin see its events."""
    roles = role_lookups().get(type(subject))
    if roles is None:
        return ""
    path = roles.removesuffix("organiser_roles").removesuffix("__") or "pk"
    keys = type(subject)._default_manager.filter(pk=subject.pk).order_by().values_list(path, flat=True)
    return next((f"competition:{key}" for key in keys if key is not None), "")


@has_files.add
def has_samples() -> bool | None:
    """Return whether one of the newest sample sets is in the object store; None if there is none."""
    digests = list(SampleSet.objects.order_by("-pk").values_list("digest", flat=True)[:_NEWEST])
    return any(object_store.size(digest) is not None for digest in digests) if digests else None
