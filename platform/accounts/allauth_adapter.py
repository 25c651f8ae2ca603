"""django-allauth adapter: sign-up and login for the modes of `GAUNTLET_SIGN_UP`."""

from __future__ import annotations

import logging
from typing import Any

import allauth.account.internal  # noqa: F401 - or it and `stages` import each other in a circle
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.account.stages import EmailVerificationStage
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal.ratelimit import get_ip
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts import sign_up
from accounts.models import AccountRequest, User
from accounts.name_rules import skeleton
from accounts.selectors import waiting_requests
from core import platform_error_report
from core.errors import Refusal
from core.roles import Right, held_by

LINK_IN_SESSION = "sign_up_link"

# the last is what the owner of an address gets when somebody else signs up with it: nobody learns that from the answer
_CONFIRMATIONS = frozenset(
    f"account/email/{name}" for name in ("email_confirmation_signup", "email_confirmation", "account_already_exists")
)

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth has no types
    """Sign-up by `GAUNTLET_SIGN_UP`, user names without look-alikes, login attempts counted by name and address."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_looks_taken": "This user name looks like another account's user name. Choose a different one."
    }

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Reject names that look like a reserved name or like the name of an existing account."""
        username = super().clean_username(username, shallow=shallow)
        look = skeleton(username)
        if look in {skeleton(name) for name in settings.ACCOUNT_USERNAME_BLACKLIST}:
            raise self.validation_error("username_blacklisted")
        if not shallow and User.objects.filter(username_skeleton=look).exists():
            raise self.validation_error("username_looks_taken")
        return username

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return True, except in invitation mode without a valid sign-up link in the session."""
        return settings.SIGN_UP != sign_up.INVITATION or sign_up.link_of(_link_key(request)) is not None

    def can_delete_email(self, email_address: EmailAddress) -> bool:
        """Return whether a person may remove an address: where sign-up verifies them, the last verified one stays.

        A mailbox would serve for one account after another.
        """
        if settings.SIGN_UP == sign_up.EMAIL and email_address.verified:
            verified = EmailAddress.objects.filter(user=email_address.user_id, verified=True)
            if not verified.exclude(pk=email_address.pk).exists():
                return False
        return super().can_delete_email(email_address)  # type: ignore[no-any-return]

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Save a new account; mark it inactive, or use the sign-up link up, as the mode requires."""
        try:
            with transaction.atomic():
                user.is_active = settings.SIGN_UP != sign_up.APPROVAL
                super().save_user(request, user, form, commit=commit)
                if settings.SIGN_UP == sign_up.INVITATION:
                    sign_up.use_link(key=_link_key(request), user=user)
                elif settings.SIGN_UP == sign_up.APPROVAL:
                    sign_up.request_account(user)
        except Refusal as refusal:  # another sign-up used the link in the meantime
            raise ImmediateHttpResponse(redirect("account_signup")) from refusal
        request.session.pop(LINK_IN_SESSION, None)
        if settings.SIGN_UP == sign_up.APPROVAL:
            self._notify_organisers(user)
        return user

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Return the account page, which lists the access tokens."""
        return reverse("pages:account")

    def get_login_stages(self) -> list[str]:
        """Return the login stages, with `VerifyGivenAddress` in place of allauth's e-mail verification."""
        replaced = {"allauth.account.stages.EmailVerificationStage": "accounts.allauth_adapter.VerifyGivenAddress"}
        return [replaced.get(stage, stage) for stage in super().get_login_stages()]

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Redirect accounts that wait for approval to a page that says so. The password was correct."""
        if waiting_requests().filter(user=user).exists():
            return redirect("account_waiting")
        return super().respond_user_inactive(request, user)  # type: ignore[no-any-return]

    def send_approval(self, account_request: AccountRequest) -> None:
        """Send the approval e-mail to the account's owner. Raise `OSError` if the mail server fails."""
        user = account_request.user
        if user.email:
            super().send_mail("account/email/account_approved", user.email, {"user": user})

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: EmailConfirmation, signup: bool) -> None:
        """Send the link that verifies an address, and forget those that have expired."""
        EmailConfirmation.objects.delete_expired_confirmations()
        super().send_confirmation_mail(request, emailconfirmation, signup)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an e-mail that the visitor requested; show an error if the mail server fails."""
        try:
            super().send_mail(template_prefix, email, context)
        except OSError as error:
            if self.request is None:
                raise
            platform_error_report.report(log, error, "an e-mail that a visitor requested was not sent")
            if template_prefix in _CONFIRMATIONS:
                text = "The confirmation e-mail could not be sent. Try again later."
            else:
                text = "The e-mail could not be sent. Try again later."
            messages.error(self.request, text)
            raise ImmediateHttpResponse(redirect("account_login")) from error

    def _notify_organisers(self, user: User) -> None:
        """Send one e-mail to those who may approve until all requests are decided, so that none floods them."""
        if waiting_requests().count() > 1:
            return
        staff = User.objects.filter(is_active=True, is_staff=True).exclude(email="")
        allowed = [each for each in staff if each.is_superuser or Right.ANSWER in held_by(each)]
        for each in allowed:
            try:
                super().send_mail("account/email/account_waiting", each.email, {"user": user})
            except OSError as error:
                platform_error_report.report(log, error, "The e-mail about a waiting account was not sent.")

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count failed attempts by name and address together, so that nobody can lock out another person."""
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{get_ip(request)}"


class VerifyGivenAddress(EmailVerificationStage):  # type: ignore[misc] # allauth has no types
    """E-mail verification that is skipped for accounts without an address (made in the console or the admin)."""

    def handle(self) -> tuple[HttpResponse | None, bool]:
        """Return the response that ends the login, if any, and whether the login can continue (as in allauth)."""
        user = self.login.user
        if user is not None and not EmailAddress.objects.filter(user=user).exists():
            return None, True
        return super().handle()  # type: ignore[no-any-return]


def _link_key(request: HttpRequest) -> str:
    return str(request.session.get(LINK_IN_SESSION, ""))
