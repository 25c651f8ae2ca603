"""Forms of the pages. They check only the format of the input; services check permissions and rules."""

from __future__ import annotations

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from accounts.models import AccessToken, Team
from accounts.services import MAX_DAYS


class TeamForm(forms.Form):
    """Form for a new team."""

    name = forms.CharField(
        max_length=80, label=gettext_lazy("Name"), help_text=gettext_lazy("Shown on the leaderboards.")
    )
    slug = forms.CharField(
        max_length=40,
        label=gettext_lazy("Short name"),
        help_text=gettext_lazy(
            "Lower-case letters, digits and single hyphens, e.g. robust-owls. You cannot change it later."
        ),
        validators=Team._meta.get_field("slug").validators[:1],
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )


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
