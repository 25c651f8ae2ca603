"""Form of the account page. It checks only the format of the input; services check permissions and rules."""

from __future__ import annotations

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from accounts.models import AccessToken
from accounts.services import MAX_DAYS


class TokenForm(forms.Form):
    """Form for a new access token."""

    name = forms.CharField(
        max_length=60, label=gettext_lazy("Name"), help_text=gettext_lazy("Where you use the token, e.g. laptop.")
    )
    scopes = forms.MultipleChoiceField(
        choices=lambda: [(value, gettext(label)) for value, label in AccessToken.Scope.choices],
        initial=[AccessToken.Scope.READ, AccessToken.Scope.SUBMIT],
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Scopes"),
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        initial=90,
        label=gettext_lazy("Days"),
        help_text=format_lazy(gettext_lazy("Lifetime, at most {days} days."), days=MAX_DAYS),
    )
