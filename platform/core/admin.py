"""Admin pages of the event log and of the site's identity."""

from __future__ import annotations

from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import ObjectDoesNotExist

from core.administration.admin_base_classes import ReadOnlyAdmin
from core.administration.link_columns import link_to
from core.models import Event, SiteIdentity


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    """Events, newest first."""

    compressed = True
    list_display = ("at", "says", "reason", "verb", "subject", "by")
    list_filter = ("verb",)
    list_select_related = ("by",)
    date_hierarchy = "at"
    search_fields = ("subject__exact", "verb__exact")
    search_related: ClassVar = {"by": ("username",)}
    search_help_text = "A whole subject (submission:12) or verb, or a user name"
    show_full_result_count = False
    fields = ("at", "says", "verb", "row", "by", "reason", "data")
    readonly_fields = ("says", "row")

    @admin.display(description="event")
    def says(self, event: Event) -> str:
        """Return the event as a sentence."""
        return event.sentence

    @admin.display(description="subject")
    def row(self, event: Event) -> Any:
        """Return a link to the subject's row, or its name if the row does not exist."""
        model_name, _, key = event.subject.partition(":")
        for model in apps.get_models():
            if model._meta.model_name == model_name and admin.site.is_registered(model):
                try:
                    return link_to(model._default_manager.get(pk=key))
                except (ObjectDoesNotExist, ValueError):
                    return event.subject
        return event.subject


@admin.register(SiteIdentity)
class SiteIdentityAdmin(ReadOnlyAdmin):
    """The identifier of this site, which its state folder has, too."""

    list_display = ("value", "made_at")
