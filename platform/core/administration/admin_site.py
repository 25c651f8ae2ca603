"""The admin as a whole."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import autodiscover, site
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_dependencies
from django.core.checks import CheckMessage, Tags, register
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from unfold.sites import UnfoldAdminSite


class LazyAdminSite(UnfoldAdminSite):  # type: ignore[misc]
    """Lists all models of the admin only where a page shows them: most pages have the sidebar in their place."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the apps with the models that the user sees, once somebody reads them."""
        listed = super().get_app_list
        return SimpleLazyObject(lambda: listed(request, app_label))

    def get_urls(self) -> list[Any]:
        """Return the addresses of all pages, after the import of those of all apps."""
        autodiscover()
        urls: list[Any] = super().get_urls()
        return urls


def check_pages(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """Check the pages of all apps. Django's own check sees only sites that somebody has used before."""
    autodiscover()
    found: list[CheckMessage] = site.check(app_configs)
    return found


class LazyAdminConfig(SimpleAdminConfig):
    """The app of the admin, whose pages are imported with the addresses of the site: not by workers."""

    default_site = "core.administration.admin_site.LazyAdminSite"

    def ready(self) -> None:
        """Register the checks of the admin."""
        register(check_dependencies, Tags.admin)
        register(check_pages, Tags.admin)
