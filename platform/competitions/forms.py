"""Admin forms for rules, sample sets and freeze windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.forms import CharField, ModelForm, SplitDateTimeField
from unfold.widgets import UnfoldAdminSplitDateTimeWidget, UnfoldAdminTextareaWidget

from competitions.freeze_windows import check_plan
from competitions.models import FreezeWindow, RulesVersion, SampleSet
from competitions.rules import check_rules
from competitions.selectors import imported_sets
from competitions.services import require_fitting_rules
from competitions.toml_schema import REQUIRED_PURPOSES
from core.administration.actions import ReasonForm
from core.errors import Refusal

if TYPE_CHECKING:
    RulesModelForm = ModelForm[RulesVersion]
    SampleSetModelForm = ModelForm[SampleSet]
    WindowModelForm = ModelForm[FreezeWindow]
else:
    RulesModelForm = SampleSetModelForm = WindowModelForm = ModelForm


class RulesForm(RulesModelForm):
    """A new version of the rules, validated with the engine's reader."""

    def clean_values(self) -> dict[str, Any]:
        values = self.cleaned_data["values"]
        if not isinstance(values, dict):
            raise ValidationError('Write a JSON object, for example {"query_budget": 1000}.')
        try:
            check_rules(values)
        except Refusal as refusal:
            raise ValidationError(f"{refusal.problem}: {refusal.fix}") from refusal
        return values

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        competition, values = self.cleaned_data.get("competition"), self.cleaned_data.get("values")
        if competition is not None and values is not None:
            try:
                require_fitting_rules(competition, values)
            except Refusal as refusal:
                self.add_error("values", f"{refusal.problem}: {refusal.fix}")
        return cleaned


class SampleSetForm(SampleSetModelForm):
    """Name and purpose of an unused sample set."""

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        others = self.instance.competition.sample_sets.exclude(pk=self.instance.pk)
        if others.filter(name=name).exists():
            raise ValidationError("Another sample set of the competition has this name. Choose a different name.")
        return name

    def clean_purpose(self) -> str:
        before, purpose = self.initial["purpose"], str(self.cleaned_data["purpose"])
        if purpose != before and before == SampleSet.Purpose.DEVELOPMENT:
            raise ValidationError("The images of this set are public. Keep the purpose development.")
        others = imported_sets(self.instance.competition).exclude(pk=self.instance.pk)
        if purpose != before and before in REQUIRED_PURPOSES and not others.filter(purpose=before).exists():
            raise ValidationError(f"This is the only {before} set. Import another {before} set first.")
        return purpose


class WindowForm(WindowModelForm):
    """Times of a freeze window that has not begun, and the reason shown to teams."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if not self.errors:
            times = {name: self.cleaned_data[name] for name in ("starts_at", "ends_at")}
            competition = self.cleaned_data.get("competition") or self.instance.competition
            try:
                check_plan(FreezeWindow(pk=self.instance.pk, competition=competition, **times))
            except Refusal as refusal:
                self.add_error(None, f"{refusal.problem}: {refusal.fix}")
        return cleaned


class ChangeWindowForm(WindowForm):
    """A change to an existing freeze window, with a reason for the event log."""

    why = CharField(
        max_length=1000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        label="Reason for the change",
        help_text="Saved in the event log.",
    )


class ExtendForm(ReasonForm):
    """New end of a freeze window."""

    ends_at = SplitDateTimeField(widget=UnfoldAdminSplitDateTimeWidget, label="New end", help_text="In UTC.")
