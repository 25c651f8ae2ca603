"""What competitions add to lower apps, connected by `CompetitionsConfig.ready`."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser

from competitions.models import Organiser, SampleSet
from core import object_store
from core.administration.permissions import capabilities_of
from core.roles import CAPABILITIES, Capability, Role
from core.site_identity import has_files

_NEWEST = 20
"""Number of sample sets that are looked for."""


@capabilities_of.add
def allowed_to(user: AbstractBaseUser) -> frozenset[Capability]:
    """Return what the user's roles in any competition allow."""
    held = Organiser.objects.filter(user_id=user.pk).values_list("role", flat=True).distinct()
    return frozenset().union(*(CAPABILITIES[Role(role)] for role in held))


@has_files.add
def has_samples() -> bool | None:
    """Return whether one of the newest sample sets is in the object store; None if there is none."""
    digests = list(SampleSet.objects.order_by("-pk").values_list("digest", flat=True)[:_NEWEST])
    return any(object_store.size(digest) is not None for digest in digests) if digests else None
