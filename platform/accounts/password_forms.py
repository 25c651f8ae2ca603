"""Password forms that can also revoke the person's access tokens."""

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
    """New password for a person who knows the old one."""

    revoke_tokens = forms.BooleanField(label="Also revoke my access tokens", required=False, initial=True)

    def save(self) -> None:
        """Change the password, and revoke the tokens if the box is ticked."""
        _save(super().save, self.user, self.cleaned_data, by=self.user)


class ResetPasswordKeyForm(allauth_forms.ResetPasswordKeyForm):  # type: ignore[misc] # allauth has no types
    """New password for a person who followed the link in an e-mail."""

    revoke_tokens = forms.BooleanField(label="Also revoke my access tokens", required=False, initial=True)

    def save(self) -> None:
        """Change the password, and revoke the tokens if the box is ticked."""
        _save(super().save, self.user, self.cleaned_data, by=self.user)


class PersonPasswordForm(AdminPasswordChangeForm):  # type: ignore[misc] # unfold has no types
    """New password that a superuser sets for another person."""

    revoke_tokens = forms.BooleanField(
        label="Also revoke this person's access tokens", required=False, initial=True, widget=UnfoldBooleanWidget
    )

    def save(self, commit: bool = True) -> Any:
        """Change the password, and revoke the tokens if the box is ticked."""
        return _save(lambda: super(PersonPasswordForm, self).save(commit), self.user, self.cleaned_data)


def _save(save: Callable[[], Any], user: User, given: dict[str, Any], *, by: User | None = None) -> Any:
    with transaction.atomic():
        saved = save()
        if given["revoke_tokens"]:
            revoke_tokens(user=user, by=by)
    return saved
