"""The log of events for people with roles: the events of their competitions, with filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin import DateFieldListFilter, RelatedOnlyFieldListFilter, SimpleListFilter
from django.db.models import CharField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat
from django.http import HttpRequest

from competitions.models import Competition
from competitions.permissions import may_in
from core.admin import EventAdmin
from core.administration.admin_base_classes import is_superuser
from core.event_log import name_of
from core.models import Event
from core.roles import Right

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

# the core app does not know competitions: its page gets them from here
admin.site.unregister(Event)


class CompetitionOfEvent(SimpleListFilter):
    """Filter by the competition that an event belongs to."""

    title = "competition"
    parameter_name = "scope"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[str, str]]:
        """Return the competitions whose events the user sees."""
        return [(name_of(each), str(each)) for each in may_in(request.user, Right.SEE_SECRETS)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """Return the events of the chosen competition."""
        return queryset.filter(scope=self.value()) if self.value() else queryset


@admin.register(Event)
class CompetitionEventAdmin(EventAdmin):
    """Events, newest first. People with roles see those of their competitions."""

    organised_by = "scope"
    list_display = (  # type: ignore[assignment] # one column more
        *("at", "says", "reason", "competition", "verb", "subject", "by"),
    )
    list_filter = (  # type: ignore[assignment] # filters more
        CompetitionOfEvent,
        ("by", RelatedOnlyFieldListFilter),
        "verb",
        ("at", DateFieldListFilter),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the events that the user sees, with the addresses of their competitions."""
        named = Competition.objects.annotate(name=Concat(Value("competition:"), Cast("pk", CharField())))
        slug = named.filter(name=OuterRef("scope")).values("slug")[:1]
        rows: QuerySet[Any] = super().get_queryset(request).annotate(competition_slug=Subquery(slug))
        return rows

    def rows_with(self, right: Right, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the events of the competitions in which the user may do something."""
        if is_superuser(request):
            return rows
        return rows.filter(scope__in=[name_of(each) for each in may_in(request.user, right)])

    @admin.display(description="competition", ordering="scope")
    def competition(self, event: Any) -> str | None:
        """Return the slug of the competition; None if the event belongs to none, or it is deleted."""
        slug: str | None = event.competition_slug
        return slug
