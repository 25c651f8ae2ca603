"""People, teams and tokens in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.models import AccessToken, Invitation, Membership, Team, User
from core.administration.columns import linked
from core.administration.rows import EditableAdmin, ReadOnlyAdmin

if TYPE_CHECKING:
    from django.contrib.auth.admin import UserAdmin

    DjangoUserAdmin = UserAdmin[User]
else:
    from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin

admin.site.unregister(Group)
admin.site.unregister(EmailAddress)


class PeopleAdmin(EditableAdmin):
    """Rows that superusers alone see, add, change and delete."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return self._may(request)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return self._may(request)


@admin.register(User)
class PersonAdmin(DjangoUserAdmin, PeopleAdmin):
    """People. Organisers need `is_staff` to see the admin; model permissions are not looked at."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    counts = ("memberships", "tokens", "organiser_roles", "submissions")


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, PeopleAdmin):
    """Groups of Django. Gauntlet itself asks for none."""


@admin.register(EmailAddress)
class EmailAddressAdmin(PeopleAdmin):
    """Addresses of people."""

    list_display = ("email", "user", "primary", "verified")
    list_filter = ("primary", "verified")
    search_fields = ("email", "user__username")
    raw_id_fields = ("user",)
    list_select_related = ("user",)


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    """Teams. Captains invite and remove members on the site."""

    organised_by = "entry__competition__organisers"
    counts = ("memberships",)
    list_display = ("slug", "name", "created_at")
    search_fields = ("slug", "name", "members__username")
    date_hierarchy = "created_at"
    fields = ("slug", "name", "created_at")


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    """Who is in which team."""

    organised_by = "team__entry__competition__organisers"
    list_display = ("user", linked("team"), "role", "joined_at")
    list_filter = ("role",)
    list_select_related = ("user", "team")
    search_fields = ("user__username", "team__slug", "team__name")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    """Who was invited into which team. Superusers alone see whom an invitation reaches."""

    list_display = ("username", linked("team"), linked("user"), linked("invited_by"), "state", "made_at", "expires_at")
    list_filter = ("state",)
    list_select_related = ("team", "user", "invited_by")
    search_fields = ("username", "team__slug", "team__name")
    date_hierarchy = "made_at"


@admin.register(AccessToken)
class AccessTokenAdmin(ReadOnlyAdmin):
    """Access tokens by their start. Neither a token nor its digest is shown."""

    list_display = ("name", "start", linked("user"), "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    list_select_related = ("user",)
    search_fields = ("name", "start", "user__username")
    fields = ("name", "start", "user", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    readonly_fields = ("start",)
