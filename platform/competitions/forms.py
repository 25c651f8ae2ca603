"""Forms of the admin's pages: what organisers may write into rows of competitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.forms import CharField, ModelForm, SplitDateTimeField
from unfold.widgets import UnfoldAdminSplitDateTimeWidget, UnfoldAdminTextareaWidget

from competitions.models import FreezeWindow, RulesVersion, SampleSet
from competitions.rules import least_accuracy, query_rules
from competitions.selectors import imported_sets
from competitions.services import require_fitting_rules
from competitions.toml_schema import NEEDED
from competitions.windows import check_plan
from core.administration.actions import ReasonForm
from core.errors import Refusal

if TYPE_CHECKING:
    RulesModelForm = ModelForm[RulesVersion]
    SampleSetModelForm = ModelForm[SampleSet]
    WindowModelForm = ModelForm[FreezeWindow]
else:
    RulesModelForm = SampleSetModelForm = WindowModelForm = ModelForm


class RulesForm(RulesModelForm):
    """A further version of the rules, checked as the engine will read it."""

    def clean_values(self) -> dict[str, Any]:
        values = self.cleaned_data["values"]
        if not isinstance(values, dict):
            raise ValidationError('Give a table of values, e.g. {"query_budget": 1000}.')
        try:
            query_rules(values, 1)
            least_accuracy(values)
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
    """The name and the purpose of a sample set that nothing was measured on."""

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        others = self.instance.competition.sample_sets.exclude(pk=self.instance.pk)
        if others.filter(name=name).exists():
            raise ValidationError("Another sample set of the competition has this name.")
        return name

    def clean_purpose(self) -> str:
        before, purpose = self.initial["purpose"], str(self.cleaned_data["purpose"])
        if purpose != before and before == SampleSet.Purpose.DEVELOPMENT:
            raise ValidationError("Its images are public, so it stays a set for development.")
        others = imported_sets(self.instance.competition).exclude(pk=self.instance.pk)
        if purpose != before and before in NEEDED and not others.filter(purpose=before).exists():
            raise ValidationError(f"It is the only set for {before}: import another one first.")
        return purpose


class WindowForm(WindowModelForm):
    """The times of a freeze window that has not begun, and what teams are told of it."""

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
    """The same where the window stands already: the log keeps why it is changed."""

    why = CharField(
        max_length=1000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        label="Reason for the change",
        help_text="Kept in the event log.",
    )


class ExtendForm(ReasonForm):
    """When a freeze window is to end instead."""

    ends_at = SplitDateTimeField(widget=UnfoldAdminSplitDateTimeWidget, label="New end", help_text="In UTC.")
