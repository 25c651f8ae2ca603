"""How django-allauth signs people up and logs them in here."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
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
from accounts.names import skeleton
from accounts.selectors import waiting_requests
from core import faults
from core.errors import Refusal

LINK_IN_SESSION = "sign_up_link"

# the last is what the owner of an address gets when somebody else signs up with it: nobody learns that from the answer
_CONFIRMATIONS = frozenset(
    f"account/email/{name}" for name in ("email_confirmation_signup", "email_confirmation", "account_already_exists")
)

log = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth has no types
    """Sign-up by `GAUNTLET_SIGN_UP`, user names of which no two look the same, attempts counted by name and address."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_looks_taken": "This user name looks like that of another account. Choose another one."
    }

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Refuse names that look like a reserved name or like that of an account."""
        username = super().clean_username(username, shallow=shallow)
        look = skeleton(username)
        if look in {skeleton(name) for name in settings.ACCOUNT_USERNAME_BLACKLIST}:
            raise self.validation_error("username_blacklisted")
        if not shallow and User.objects.filter(username_skeleton=look).exists():
            raise self.validation_error("username_looks_taken")
        return username

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Where accounts are made by invitation, whether a link that works was followed."""
        return settings.SIGN_UP != sign_up.INVITATION or sign_up.link_of(_link_key(request)) is not None

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Save a new account, by the rules of the site."""
        try:
            with transaction.atomic():
                user.is_active = settings.SIGN_UP != sign_up.APPROVAL
                super().save_user(request, user, form, commit=commit)
                if settings.SIGN_UP == sign_up.INVITATION:
                    sign_up.use_link(key=_link_key(request), user=user)
                elif settings.SIGN_UP == sign_up.APPROVAL:
                    sign_up.request_account(user)
        except Refusal as refusal:  # somebody else used the link meanwhile
            raise ImmediateHttpResponse(redirect("account_signup")) from refusal
        request.session.pop(LINK_IN_SESSION, None)
        if settings.SIGN_UP == sign_up.APPROVAL:
            self._tell_organisers(user)
        return user

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """The page of the account, which lists the access tokens."""
        return reverse("pages:account")

    def get_login_stages(self) -> list[str]:
        """The stages of a log-in, with our own for the e-mail address."""
        own = {"allauth.account.stages.EmailVerificationStage": "accounts.adapter.VerifyGivenAddress"}
        return [own.get(stage, stage) for stage in super().get_login_stages()]

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Tell people whose account waits for an organiser so. They gave the right password."""
        if waiting_requests().filter(user=user).exists():
            return redirect("account_waiting")
        return super().respond_user_inactive(request, user)  # type: ignore[no-any-return]

    def tell_approved(self, asked: AccountRequest) -> None:
        """Write to the person that the account was approved. Raises `OSError` where the mail server fails."""
        if asked.user.email:
            super().send_mail("account/email/account_approved", asked.user.email, {"user": asked.user})

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an e-mail that the visitor asked for; show an error where the mail server fails."""
        try:
            super().send_mail(template_prefix, email, context)
        except OSError as error:
            if self.request is None:
                raise
            faults.report(log, error, "an e-mail that a visitor asked for could not be sent")
            what = "The confirmation e-mail" if template_prefix in _CONFIRMATIONS else "The e-mail"
            messages.error(self.request, f"{what} could not be sent. Try again later.")
            raise ImmediateHttpResponse(redirect("account_login")) from error

    def _tell_organisers(self, user: User) -> None:
        """Write to those who decide, once until they have: whoever signs up again and again floods nobody."""
        if waiting_requests().count() > 1:
            return
        deciders = User.objects.filter(is_active=True, is_staff=True).exclude(email="")
        for email in deciders.values_list("email", flat=True):
            try:
                super().send_mail("account/email/account_waiting", email, {"user": user})
            except OSError as error:
                faults.report(log, error, "An organiser was not told of a waiting account.")

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """What failed attempts are counted by: name and address together, so that nobody locks out somebody else."""
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{get_ip(request)}"


class VerifyGivenAddress(EmailVerificationStage):  # type: ignore[misc] # allauth has no types
    """Asks for a verified e-mail address, but not of accounts that gave none: the console and the admin made them."""

    def handle(self) -> tuple[HttpResponse | None, bool]:
        """As allauth: the response that ends the log-in, and whether it can go on."""
        user = self.login.user
        if user is not None and not EmailAddress.objects.filter(user=user).exists():
            return None, True
        return super().handle()  # type: ignore[no-any-return]


def _link_key(request: HttpRequest) -> str:
    return str(request.session.get(LINK_IN_SESSION, ""))
