"""Form for a new team. It checks only the format of the input; services check permissions and rules."""

from __future__ import annotations

from django import forms

from accounts.models import Team


class TeamForm(forms.Form):
    """Form for a new team."""

    name = forms.CharField(max_length=80, label="Name", help_text="Shown on the leaderboards.")
    slug = forms.CharField(
        max_length=40,
        label="Short name",
        help_text="Lower-case letters, digits and single hyphens, e.g. robust-owls. You cannot change it later.",
        validators=Team._meta.get_field("slug").validators[:1],
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
