"""Admin forms for tracks, sample sets and freeze windows."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.forms import CharField, ModelForm, SplitDateTimeField
from unfold.widgets import UnfoldAdminSplitDateTimeWidget, UnfoldAdminTextareaWidget

from competitions.bundled_baselines import bundled
from competitions.competition_file_reader import REQUIRED_PURPOSES
from competitions.freeze_windows import check_plan
from competitions.models import FreezeWindow, SampleSet, Track
from competitions.sample_set_selectors import imported_sets
from competitions.services import require_secret_images
from competitions.toml_fields import Errors, TomlTable
from core.administration.confirmed_actions import ReasonForm
from core.errors import Refusal

if TYPE_CHECKING:
    SampleSetModelForm = ModelForm[SampleSet]
    TrackModelForm = ModelForm[Track]
    WindowModelForm = ModelForm[FreezeWindow]
else:
    SampleSetModelForm = TrackModelForm = WindowModelForm = ModelForm


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
        if purpose != before:
            changed = copy(self.instance)
            changed.purpose = purpose
            try:
                require_secret_images(changed)
            except Refusal as refusal:
                raise ValidationError(f"{refusal.problem}: {refusal.fix}") from refusal
        return purpose


class TrackForm(TrackModelForm):
    """Texts, quota and baselines of a track."""

    def clean_baselines(self) -> list[str]:
        """Return the names, read as those of a file. What the track lists already may stay; an empty field has none."""
        track, listed = self.instance, self.cleaned_data["baselines"]
        present = track.baselines if isinstance(track.baselines, list) else []
        known = [*bundled(track.competition.format, track.name), *track.own_baselines, *map(str, present)]
        errors = Errors()
        table = TomlTable(f"[tracks.{track.name}]", {"baselines": listed or []}, ["baselines"], errors)
        names = table.names("baselines", dict.fromkeys(known))
        if errors:
            raise ValidationError([f"{each.problem}: {each.fix}" for each in errors])
        return names


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
