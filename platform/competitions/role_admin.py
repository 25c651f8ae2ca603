"""The admin page of the roles in competitions, and its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.forms import CharField, ChoiceField, ModelForm
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminTextInputWidget

from accounts.models import User
from accounts.selectors import signed_in_user
from competitions.models import Organiser
from competitions.organiser_page_admin import OF_COMPETITION
from competitions.role_changes import active_user, change_role, grant_role, hand_over, take_role_away
from core.administration.admin_base_classes import ManagedAdmin
from core.administration.confirmed_actions import AdminAction, ReasonForm, confirmed_action
from core.administration.link_columns import linked
from core.errors import Refusal
from core.roles import OrganiserRole, Right, role_in_words

if TYPE_CHECKING:
    OrganiserModelForm = ModelForm[Organiser]
else:
    OrganiserModelForm = ModelForm

_ALL_IN_WORDS = format_html_join(
    mark_safe("<br>"), "{}: {}", ((role.label, role_in_words(role)) for role in OrganiserRole)
)


def _role(**options: Any) -> ChoiceField:
    widget = UnfoldAdminRadioSelectWidget
    return ChoiceField(choices=OrganiserRole.choices, widget=widget, help_text=_ALL_IN_WORDS, **options)


def _user_name(**options: Any) -> CharField:
    return CharField(max_length=150, widget=UnfoldAdminTextInputWidget, **options)


class RoleForm(OrganiserModelForm):
    """The role of a person, with what each role may do."""

    role = _role(show_hidden_initial=True)

    @property
    def seen(self) -> str:
        """The role that the person had when the form was shown."""
        return str(self.data.get(self.add_initial_prefix("role"), ""))


class GrantForm(OrganiserModelForm):
    """The first role of a person in a competition."""

    user_name = _user_name(help_text="Of an active account. The person gets access to the admin.")
    role = _role()

    def clean_user_name(self) -> User:
        try:
            return active_user(self.cleaned_data["user_name"])
        except Refusal as refusal:
            raise ValidationError(f"{refusal.problem}: {refusal.fix}") from refusal


class HandOverForm(ReasonForm):
    """Who becomes the owner."""

    to = _user_name(label="New owner", help_text="The user name of an active account.")


def _hand_over(row: Organiser, by: User, reason: str, to: str) -> None:
    hand_over(organiser=row, to=active_user(to), by=by, reason=reason)


@admin.register(Organiser)
class OrganiserAdmin(ManagedAdmin):
    """The roles of people in competitions. Everybody with a role sees them; owners and superusers grant them."""

    viewing = Right.SEE
    changing = Right.GRANT
    list_display = ("user", "role", linked("competition"))
    list_filter = (OF_COMPETITION, "role")
    list_select_related = ("user", "competition")
    search_fields = ("user__username", "competition__slug")
    fixed = ("competition", "user")
    actions_detail = ("hand_over",)

    hand_over = confirmed_action(
        AdminAction(
            title="Hand over",
            effect="Another person becomes the owner. This person stays, as an organiser.",
            done="handed over",
            call=_hand_over,
            form=HandOverForm,
            needs=Right.GRANT,
        )
    )

    @admin.display(description="may do")
    def may_do(self, row: Organiser) -> str:
        """Return what the role allows, in words."""
        return role_in_words(OrganiserRole(row.role))

    def get_fields(self, request: HttpRequest, obj: Organiser | None = None) -> tuple[str, ...]:
        """Return the fields of a new role, or of one that exists."""
        if obj is None:
            return ("competition", "user_name", "role")
        return ("competition", "user", "role", *(() if self.has_change_permission(request, obj) else ("may_do",)))

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[Any, ...]:
        """Return the fields that do not change, and what the role allows."""
        return (*super().get_readonly_fields(request, obj), *(("may_do",) if obj else ()))

    def get_form(
        self, request: HttpRequest, obj: Organiser | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[Organiser]]:
        """Return the form that grants a role, or the one that changes it."""
        if obj is None or self.has_change_permission(request, obj):
            kwargs["form"] = RoleForm if change else GrantForm
        return super().get_form(request, obj, change, **kwargs)

    def save_model(self, request: HttpRequest, obj: Organiser, form: Any, change: bool) -> None:
        """Grant the role, or change it."""
        by = signed_in_user(request)
        if change:
            change_role(organiser=obj, seen=form.seen, role=OrganiserRole(obj.role), by=by)
        else:
            user = form.cleaned_data["user_name"]
            made = grant_role(competition=obj.competition, user=user, role=OrganiserRole(obj.role), by=by)
            obj.pk, obj.user = made.pk, made.user

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Take the role away."""
        take_role_away(organiser=obj, by=signed_in_user(request))
