"""What operations add to lower apps, connected by `OperationsConfig.ready`."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import URLPattern, path

from api.extension_points import further_addresses


@further_addresses.add
def addresses() -> Sequence[URLPattern]:
    """Return the address of the status of the site."""
    from operations.status_api import ShowStatus  # noqa: PLC0415 - only web servers need it

    return [path("status", ShowStatus.as_view(), name="status")]
