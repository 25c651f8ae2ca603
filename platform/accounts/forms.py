"""Forms in which a password is changed, and access tokens end with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.db import transaction
from unfold.forms import AdminPasswordChangeForm
from unfold.widgets import UnfoldBooleanWidget

from accounts.models import User
from accounts.services import revoke_tokens


class ChangePasswordForm(allauth_forms.ChangePasswordForm):  # type: ignore[misc] # allauth has no types
    """A new password for who knows the old one."""

    revoke_tokens = forms.BooleanField(label="Also revoke my access tokens", required=False, initial=True)

    def save(self) -> None:
        """Change the password, and end the tokens where that was asked for."""
        _save(super().save, self.user, self.cleaned_data, by=self.user)


class ResetPasswordKeyForm(allauth_forms.ResetPasswordKeyForm):  # type: ignore[misc] # allauth has no types
    """A new password for who followed the link in an e-mail."""

    revoke_tokens = forms.BooleanField(label="Also revoke my access tokens", required=False, initial=True)

    def save(self) -> None:
        """Change the password, and end the tokens where that was asked for."""
        _save(super().save, self.user, self.cleaned_data, by=self.user)


class PersonPasswordForm(AdminPasswordChangeForm):  # type: ignore[misc] # unfold has no types
    """A new password that a superuser sets for somebody."""

    revoke_tokens = forms.BooleanField(
        label="Also revoke this person's access tokens", required=False, initial=True, widget=UnfoldBooleanWidget
    )

    def save(self, commit: bool = True) -> Any:
        """Change the password, and end the tokens where that was asked for."""
        return _save(lambda: super(PersonPasswordForm, self).save(commit), self.user, self.cleaned_data)


def _save(save: Callable[[], Any], user: User, given: dict[str, Any], *, by: User | None = None) -> Any:
    with transaction.atomic():
        saved = save()
        if given["revoke_tokens"]:
            revoke_tokens(user=user, by=by)
    return saved
