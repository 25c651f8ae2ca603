"""Admin pages of what organisers write: pages, terms and announcements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.forms import ModelForm
from django.http import HttpRequest

from accounts.selectors import signed_in_user
from competitions import organiser_pages
from competitions.models import Announcement, Page, TermsAcceptance, TermsVersion
from competitions.terms import publish_terms
from core import clock
from core.administration.admin_base_classes import AddableAdmin, ManagedAdmin, ReadOnlyAdmin, is_superuser
from core.administration.link_columns import linked
from core.administration.list_filters import SeenRelatedFilter
from core.roles import Right

if TYPE_CHECKING:
    PageModelForm = ModelForm[Page]
else:
    PageModelForm = ModelForm

OF_COMPETITION = ("competition", SeenRelatedFilter)


class PageForm(PageModelForm):
    """A page. Only superusers may leave the competition empty."""

    for_site: bool = False

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if "competition" in self.fields and not self.for_site and self.cleaned_data.get("competition") is None:
            raise ValidationError({"competition": "Choose your competition. Only superusers write pages of the site."})
        return cleaned


@admin.register(Page)
class PageAdmin(ManagedAdmin):
    """Prizes, code of conduct, privacy and imprint, of a competition or of the site."""

    form = PageForm
    viewing = Right.SEE
    list_display = ("name", linked("competition"), "changed_at")
    list_filter = (OF_COMPETITION, "name")
    list_select_related = ("competition",)
    search_fields = ("text", "competition__slug")
    fixed = ("competition", "name", "changed_at")

    def get_form(
        self, request: HttpRequest, obj: Page | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[Page]]:
        """Return the form, in which only superusers may leave the competition empty."""
        form = super().get_form(request, obj, change, **kwargs)
        form.for_site = is_superuser(request)  # type: ignore[attr-defined] # a class made for this request
        return form

    def save_model(self, request: HttpRequest, obj: Page, form: ModelForm[Any], change: bool) -> None:
        """Write the page."""
        saved = organiser_pages.write_page(
            competition=obj.competition, name=obj.name, text=obj.text, by=signed_in_user(request)
        )
        obj.pk = saved.pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Remove the page."""
        organiser_pages.remove_page(page=obj, by=signed_in_user(request))


@admin.register(Announcement)
class AnnouncementAdmin(ManagedAdmin):
    """Announcements, on the page of news and in its feed."""

    viewing = Right.SEE
    changing = Right.ANSWER
    list_display = ("title", linked("competition"), "published_at", "changed_at")
    list_filter = (OF_COMPETITION,)
    list_select_related = ("competition",)
    search_fields = ("title", "text", "competition__slug")
    date_hierarchy = "published_at"
    fixed = ("competition", "changed_at")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the current time as the initial one: most announcements are published at once."""
        return {"published_at": clock.database_now()} | super().get_changeform_initial_data(request)

    def save_model(self, request: HttpRequest, obj: Announcement, form: ModelForm[Any], change: bool) -> None:
        """Publish or change the announcement."""
        by = signed_in_user(request)
        values: dict[str, Any] = {"title": obj.title, "text": obj.text, "published_at": obj.published_at}
        if change:
            organiser_pages.change_announcement(announcement=obj, **values, by=by)
        else:
            obj.pk = organiser_pages.announce(competition=obj.competition, **values, by=by).pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Remove the announcement."""
        organiser_pages.remove_announcement(announcement=obj, by=signed_in_user(request))


@admin.register(TermsVersion)
class TermsVersionAdmin(AddableAdmin):
    """Versions of the terms. A new version asks every team to accept again before its next submission."""

    viewing = Right.SEE
    counts = ("acceptances",)
    list_display = ("__str__", linked("competition"), "version", "digest", "created_at")
    list_filter = (OF_COMPETITION,)
    list_select_related = ("competition",)
    search_fields = ("text", "digest", "competition__slug")
    readonly_fields = ("version", "digest", "created_at")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the newest terms as initial values, since usually a part of the text changes."""
        newest = self.get_queryset(request).order_by("-created_at", "-pk").first()
        initial = {"competition": newest.competition_id, "text": newest.text} if newest else {}
        return initial | super().get_changeform_initial_data(request)

    def save_model(self, request: HttpRequest, obj: TermsVersion, form: ModelForm[Any], change: bool) -> None:
        """Publish the next version; the text in force makes none."""
        saved = publish_terms(competition=obj.competition, text=obj.text, by=signed_in_user(request))
        obj.pk, obj.version = saved.pk, saved.version


@admin.register(TermsAcceptance)
class TermsAcceptanceAdmin(ReadOnlyAdmin):
    """Who accepted which version of the terms for which team, and when."""

    viewing = Right.SEE
    list_display = ("__str__", linked("entry"), linked("terms"), linked("user"), "accepted_at")
    list_filter = (("entry__competition", SeenRelatedFilter),)
    list_select_related = ("entry__team", "entry__competition", "terms__competition", "user")
    search_fields = ("entry__team__slug", "user__username")
    date_hierarchy = "accepted_at"
