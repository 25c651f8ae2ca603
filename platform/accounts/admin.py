"""Admin pages of people, teams, sign-ups and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.models import EmailAddress, EmailConfirmation
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.forms import UserChangeForm, UserCreationForm

from accounts import sign_up
from accounts.allauth_adapter import AccountAdapter
from accounts.models import AccessToken, AccountRequest, DeviceLogin, Invitation, Membership, SignUpLink, Team, User
from accounts.password_forms import PersonPasswordForm
from accounts.selectors import signed_in_user, waiting_requests
from core.administration.admin_base_classes import AddableAdmin, ManagedAdmin, ReadOnlyAdmin
from core.administration.confirmed_actions import AdminAction, confirmed_action
from core.administration.link_columns import linked
from core.errors import Fault
from core.roles import Right

if TYPE_CHECKING:
    from django.contrib.auth.admin import UserAdmin

    DjangoUserAdmin = UserAdmin[User]
else:
    from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin

admin.site.unregister(Group)
admin.site.unregister(EmailAddress)
admin.site.unregister(EmailConfirmation)


@admin.register(User)
class PersonAdmin(DjangoUserAdmin, ManagedAdmin):  # type: ignore[misc] # `change` is among its keywords
    """Users. Organisers need `is_staff` to open the admin; Django's model permissions are ignored."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = PersonPasswordForm
    change_user_password_template = "admin/accounts/change_password.html"  # noqa: S105 - a template
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    counts = ("memberships", "tokens")


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ManagedAdmin):
    """Django's groups. Gauntlet does not use them."""


@admin.register(EmailAddress)
class EmailAddressAdmin(ManagedAdmin):
    """E-mail addresses of users."""

    list_display = ("email", "user", "primary", "verified")
    list_filter = ("primary", "verified")
    search_fields = ("email", "user__username")
    autocomplete_fields = ("user",)
    list_select_related = ("user",)


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    """Teams. Captains invite and remove members on the site."""

    counts = ("memberships",)
    viewing = Right.SEE
    list_display = ("slug", "name", "created_at")
    search_fields = ("slug", "name", "members__username")
    date_hierarchy = "created_at"
    fields = ("slug", "name", "created_at")


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    """Memberships of teams."""

    viewing = Right.SEE
    list_display = ("user", linked("team"), "role", "joined_at")
    list_filter = ("role",)
    list_select_related = ("user", "team")
    search_fields = ("user__username", "team__slug", "team__name")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    """Invitations into teams. Only superusers see which account an invitation belongs to."""

    list_display = ("username", linked("team"), linked("user"), linked("invited_by"), "state", "made_at", "expires_at")
    list_filter = ("state",)
    list_select_related = ("team", "user", "invited_by")
    search_fields = ("username", "team__slug", "team__name")
    date_hierarchy = "made_at"


def _approve(row: AccountRequest, by: User, reason: str) -> None:
    sign_up.approve(request=row, by=by, reason=reason)
    try:
        AccountAdapter().send_approval(row)
    except OSError as error:
        raise Fault(f"the account is approved, but the e-mail to {row.user.email} was not sent ({error})") from error


@admin.register(AccountRequest)
class AccountRequestAdmin(ReadOnlyAdmin):
    """Sign-ups that organisers approve or decline (GAUNTLET_SIGN_UP=approval)."""

    for_organisers = True
    viewing = Right.ANSWER
    changing = Right.ANSWER
    list_display = ("user", "email", "state", "made_at", "decided_at", "decided_by")
    list_filter = ("state",)
    list_select_related = ("user", "decided_by")
    search_fields = ("user__username", "user__email")
    date_hierarchy = "made_at"
    fields = list_display
    readonly_fields = ("email",)
    actions = ("approve", "decline")
    actions_detail = actions

    approve = confirmed_action(
        AdminAction(
            title="Approve",
            effect="The person can sign in, and gets an e-mail if the account has an address.",
            done="approved",
            call=_approve,
            needs=Right.ANSWER,
            rehearsed=False,  # it sends an e-mail
        )
    )
    decline = confirmed_action(
        AdminAction(
            title="Decline",
            effect="The account stays inactive and keeps its user name. You can still approve the request later.",
            done="declined",
            call=lambda row, by, reason: sign_up.decline(request=row, by=by, reason=reason),
            needs=Right.ANSWER,
        )
    )

    @admin.display(description="e-mail", ordering="user__email")
    def email(self, row: AccountRequest) -> str:
        """Return the address given at sign-up, which is not verified."""
        return row.user.email


@admin.register(SignUpLink)
class SignUpLinkAdmin(AddableAdmin):
    """Links for one sign-up each (GAUNTLET_SIGN_UP=invitation)."""

    for_organisers = True
    viewing = Right.ANSWER
    changing = Right.ANSWER
    list_display = ("note", "made_by", "made_at", "expires_at", "used_by", "used_at", "withdrawn_at")
    list_filter = (("used_at", admin.EmptyFieldListFilter), ("withdrawn_at", admin.EmptyFieldListFilter))
    list_select_related = ("made_by", "used_by")
    search_fields = ("note", "used_by__username")
    date_hierarchy = "made_at"
    actions = ("withdraw",)
    actions_detail = actions

    withdraw = confirmed_action(
        AdminAction(
            title="Withdraw",
            effect="The link stops working.",
            done="withdrawn",
            call=lambda row, by, reason: sign_up.withdraw_link(link=row, by=by, reason=reason),
            needs=Right.ANSWER,
        )
    )

    @admin.display(description="link")
    def address(self, link: SignUpLink) -> str:
        """Return the address to send to the person."""
        return str(vars(link).get("address", ""))

    def get_fields(self, request: HttpRequest, obj: SignUpLink | None = None) -> tuple[str, ...]:
        """Return only the note for a new link, and every field for an existing one."""
        return ("address", *self.list_display) if obj else ("note",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """Return every field of an existing link."""
        return ("address", *self.list_display) if obj else ()

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> SignUpLink | None:
        """Return the row with its full address, built from the host of the request."""
        link: SignUpLink | None = super().get_object(request, object_id, from_field)
        if link is not None:
            is_valid = sign_up.link_of(sign_up.key_of(link)) is not None
            address = request.build_absolute_uri(reverse("sign_up_link", args=[sign_up.key_of(link)]))
            vars(link)["address"] = address if is_valid else "This link no longer works."
        return link

    def save_model(self, request: HttpRequest, obj: SignUpLink, form: ModelForm[Any], change: bool) -> None:
        """Create the link. Links are never changed."""
        if change:
            raise PermissionDenied
        obj.pk = sign_up.make_link(note=obj.note, by=signed_in_user(request)).pk

    def response_add(self, request: HttpRequest, obj: SignUpLink, post_url_continue: str | None = None) -> HttpResponse:
        """Redirect to the page of the link, which shows its address."""
        return HttpResponseRedirect(reverse("admin:accounts_signuplink_change", args=[obj.pk]))


def waiting_badge(request: HttpRequest) -> str:
    """Return the number of waiting sign-ups for the sidebar; empty if there are none or approval is off."""
    return str(waiting_requests().count() or "") if settings.SIGN_UP == sign_up.APPROVAL else ""


@admin.register(AccessToken)
class AccessTokenAdmin(ReadOnlyAdmin):
    """Access tokens by their first characters. Neither a token nor its digest is shown."""

    list_display = ("name", "start", linked("user"), "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    list_select_related = ("user",)
    search_fields = ("name", "start", "user__username")
    fields = ("name", "start", "user", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    readonly_fields = ("start",)


@admin.register(DeviceLogin)
class DeviceLoginAdmin(ReadOnlyAdmin):
    """Programs that a person lets sign in by a code, of the last minutes. No code is shown."""

    list_display = ("client", "address", "state", linked("decided_by"), "made_at", "expires_at")
    list_filter = ("state",)
    list_select_related = ("decided_by",)
    search_fields = ("client", "address", "decided_by__username")
    fields = ("client", "address", "state", "decided_by", "made_at", "expires_at", "interval", "polled_at")
