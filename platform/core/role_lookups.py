"""How a row leads to the roles of its competition: the one table that admin and event log ask."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from django.apps import apps
from django.db.models import Model


@cache
def role_lookups() -> Mapping[type[Model], str]:
    """Return the lookup from the rows of each model to the roles of their competition.

    An app names those of its models in `role_lookups` of its `AppConfig`, by label. Rows of other models belong to no
    competition, or to several.
    """
    named = (getattr(app, "role_lookups", {}) for app in apps.get_app_configs())
    return {apps.get_model(label): lookup for of_app in named for label, lookup in of_app.items()}
