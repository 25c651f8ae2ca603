"""Forms of allauth with the words of this site."""

from __future__ import annotations

from typing import Any

from allauth.account import forms as allauth_forms
from django import forms


class LoginForm(allauth_forms.LoginForm):  # type: ignore[misc] # allauth has no types
    """Sign-in by user name or e-mail address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _relabel(self, login="User name or e-mail address", remember="Stay signed in on this device")


class SignupForm(allauth_forms.SignupForm):  # type: ignore[misc] # allauth has no types
    """Sign-up."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _relabel(self, username="User name", email="E-mail address", password2="Confirm password")


class AddEmailForm(allauth_forms.AddEmailForm):  # type: ignore[misc] # allauth has no types
    """A further e-mail address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _relabel(self, email="E-mail address")


class ResetPasswordForm(allauth_forms.ResetPasswordForm):  # type: ignore[misc] # allauth has no types
    """The address that a link for a new password is sent to."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _relabel(self, email="E-mail address")


def _relabel(form: forms.Form, **labels: Any) -> None:
    """Set labels of the fields that the form has, and drop placeholders, which repeat the labels."""
    for name, field in form.fields.items():
        field.label = labels.get(name, field.label)
        field.widget.attrs.pop("placeholder", None)
