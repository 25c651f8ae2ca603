"""What competitions add to lower apps, connected by `CompetitionsConfig.ready`."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser

from competitions.models import Organiser
from core.administration.permissions import is_organiser


@is_organiser.add
def organises(user: AbstractBaseUser) -> bool:
    """Return whether the user organises a competition."""
    return Organiser.objects.filter(user_id=user.pk).exists()
