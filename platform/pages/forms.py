"""Forms of the pages. They check shapes only; what may be done is the services' to say."""

from __future__ import annotations

from django import forms

from accounts.models import AccessToken, Team
from accounts.services import MAX_DAYS


class TeamForm(forms.Form):
    """A team to be made."""

    name = forms.CharField(max_length=80, label="Name", help_text="As the leaderboards show it.")
    slug = forms.CharField(
        max_length=40,
        label="Short name",
        help_text="For addresses: lower-case letters, digits and single hyphens, as in robust-owls. It stays for good.",
        validators=Team._meta.get_field("slug").validators[:1],
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )


class TokenForm(forms.Form):
    """An access token to be made."""

    name = forms.CharField(max_length=60, label="Name", help_text="Where you will use it, e.g. laptop.")
    scopes = forms.MultipleChoiceField(
        choices=AccessToken.Scope.choices,
        initial=[AccessToken.Scope.READ, AccessToken.Scope.SUBMIT],
        widget=forms.CheckboxSelectMultiple,
        label="What it may do",
    )
    days = forms.IntegerField(
        min_value=1, max_value=MAX_DAYS, initial=90, label="Days", help_text=f"How long it works, at most {MAX_DAYS}."
    )
