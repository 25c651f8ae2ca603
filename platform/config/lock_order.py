"""The order in which a transaction locks rows with SELECT ... FOR UPDATE: two that keep to it never deadlock.

Of one table, rows are locked in the order of their keys. The site's tests check every transaction on PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

SHARED = (
    "workers.Worker",
    "accounts.AccountRequest",
    "accounts.SignUpLink",
    "accounts.Team",
    "accounts.User",
    "accounts.Invitation",
    "competitions.Competition",
    "rounds.Round",
    "competitions.SampleSet",
    "repositories.Repository",
    "submissions.Submission",
    "submissions.QuotaSlot",
    "submissions.Build",
    "competitions.Track",
    "rounds.SigningKey",
    "workers.HostCredential",
)
"""Models of shared apps, first to last."""


def lock_order() -> tuple[str, ...]:
    """Return the models, first to last. A transaction that holds rows of one locks no rows of an earlier one.

    An app of a format names its models in `lock_order`, by the model of `SHARED` before which they are locked; those of
    a later app come first. Raise `ImproperlyConfigured` where it names another model.
    """
    before: dict[str, list[str]] = {label: [] for label in SHARED}
    for app in reversed(list(apps.get_app_configs())):
        own: Mapping[str, Sequence[str]] = getattr(app, "lock_order", {})
        for label, models in own.items():
            if label not in before:
                raise ImproperlyConfigured(
                    f"the lock_order of {app.name} names {label}: name one of {', '.join(SHARED)}"
                )
            before[label] += models
    return tuple(model for label in SHARED for model in (*before[label], label))
