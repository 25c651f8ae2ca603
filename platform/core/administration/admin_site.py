"""The admin as a whole."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from unfold.sites import UnfoldAdminSite


class LazyAdminSite(UnfoldAdminSite):  # type: ignore[misc]
    """Lists all models of the admin only where a page shows them: most pages have the sidebar in their place."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the apps with the models that the user sees, once somebody reads them."""
        listed = super().get_app_list
        return SimpleLazyObject(lambda: listed(request, app_label))


class LazyAdminConfig(AdminConfig):
    """The app of the admin."""

    default_site = "core.administration.admin_site.LazyAdminSite"
