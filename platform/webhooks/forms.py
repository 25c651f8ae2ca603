"""The form for a new webhook. It checks only the format of the input; the services check permissions and rules."""

from __future__ import annotations

from django import forms

from webhooks.models import WebhookEvent
from webhooks.receiver_address import LONGEST


class WebhookForm(forms.Form):
    """An address and the events that it gets."""

    address = forms.CharField(
        max_length=LONGEST,
        label="Address",
        help_text="An https address that everybody on the internet can reach. It gets a POST request for each event.",
        widget=forms.URLInput(attrs={"placeholder": "https://bot.example/gauntlet", "autocomplete": "off"}),
    )
    events = forms.MultipleChoiceField(
        choices=WebhookEvent.choices,
        initial=WebhookEvent.values,
        widget=forms.CheckboxSelectMultiple,
        label="Events",
    )
