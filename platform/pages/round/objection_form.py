"""Form for an objection. It checks only the format of the input; the service checks permissions and rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from rounds.objections.filing import MOST_TEXT

RESULT = "result"
_ENTRY, _MATCH = "entry-", "match-"


class ObjectionForm(forms.Form):
    """An objection to the whole result of a round, to one of its entries, or to the match that the address names."""

    about = forms.ChoiceField(label="To")
    text = forms.CharField(
        label="Objection",
        widget=forms.Textarea(attrs={"rows": 8, "maxlength": MOST_TEXT}),
        help_text="What is wrong, and how you know. The organisers read it now. It becomes public, with the name of "
        "your team, when they answer.",
    )

    def __init__(
        self,
        *args: Any,
        entries: Sequence[tuple[int, str]],
        match: tuple[str, str] | None,
        has_matches: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        about: Any = self.fields["about"]
        about.help_text = "To object to a match, begin at its page." if has_matches else ""
        about.choices = [
            *([(f"{_MATCH}{match[0]}", match[1])] if match else []),
            (RESULT, "the whole result"),
            *((f"{_ENTRY}{key}", title) for key, title in entries),
        ]

    @property
    def subject(self) -> dict[str, Any]:
        """What the valid form objects to, as the service takes it."""
        about = self.cleaned_data["about"]
        if about.startswith(_ENTRY):
            return {"entry": int(about.removeprefix(_ENTRY))}
        return {"match": about.removeprefix(_MATCH)} if about.startswith(_MATCH) else {}
