"""Form of the account page. It checks only the format of the input; services check permissions and rules."""

from __future__ import annotations

from django import forms

from accounts.models import AccessToken
from accounts.services import MAX_DAYS


class DeviceCodeForm(forms.Form):
    """Form for the code that a program on another device shows."""

    code = forms.CharField(
        max_length=20,
        label="Code",
        help_text="Eight letters, such as BCDF-GHJK.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )


class TokenForm(forms.Form):
    """Form for a new access token."""

    name = forms.CharField(max_length=60, label="Name", help_text="Where you use the token, e.g. laptop.")
    scopes = forms.MultipleChoiceField(
        choices=AccessToken.Scope.choices,
        initial=[AccessToken.Scope.READ, AccessToken.Scope.SUBMIT],
        widget=forms.CheckboxSelectMultiple,
        label="Scopes",
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        initial=90,
        label="Days",
        help_text=f"Lifetime, at most {MAX_DAYS} days.",
    )
