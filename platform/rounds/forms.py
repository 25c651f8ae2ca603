"""Forms of the admin's actions on rounds. They check formats only; the services decide what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.forms import (
    BooleanField,
    CharField,
    ChoiceField,
    IntegerField,
    ModelChoiceField,
    MultipleChoiceField,
    SplitDateTimeField,
)
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminSplitDateTimeWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from competitions.models import MAX_OBJECTION_DAYS, Competition, SampleSet
from core.administration.confirmed_actions import ReasonForm
from rounds.formats import round_formats
from rounds.models import Release, Round

if TYPE_CHECKING:
    SampleSetChoiceField = ModelChoiceField[SampleSet]
else:
    SampleSetChoiceField = ModelChoiceField

SECRET = (SampleSet.Purpose.TEST, SampleSet.Purpose.FINAL)


class PublishForm(ReasonForm):
    """What is done together with the publication."""

    ends_window = BooleanField(
        required=False,
        initial=True,
        label="End the freeze window",
        widget=UnfoldBooleanWidget,
        help_text="Submissions are accepted again from now on. Nothing happens if it has ended.",
    )


class PartsForm(ReasonForm):
    """The parts of a round to release or withdraw."""

    part = MultipleChoiceField(
        choices=Release.Part.choices, label="Parts", widget=UnfoldAdminCheckboxSelectMultipleWidget
    )


class SourceField(SampleSetChoiceField):
    """A sample set to draw from, named with the number of its images."""

    def label_from_instance(self, obj: SampleSet) -> str:
        return f"{obj} ({obj.count:,} images)"


class PlanForm(ReasonForm):
    """A round to plan, with choices limited to the given `competitions`."""

    competition = ModelChoiceField(Competition.objects.none(), widget=UnfoldAdminSelectWidget)
    title = CharField(
        max_length=120,
        widget=UnfoldAdminTextInputWidget,
        help_text="Public immediately, also as the reason of the freeze window. Example: Development round 1.",
    )
    kind = ChoiceField(
        choices=Round.Kind.choices,
        widget=UnfoldAdminSelectWidget,
        help_text="The final ranks for prizes.",
    )
    source = SourceField(
        SampleSet.objects.none(),
        label="Samples from",
        widget=UnfoldAdminSelectWidget,
        help_text="An imported secret set: test for a development round, final for the final. A set that was played, "
        "or used for another round, is rejected.",
    )
    samples = IntegerField(
        min_value=1,
        label="Number of samples",
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Drawn in a secret order; the salted hash of the list is public immediately.",
    )
    starts_at = SplitDateTimeField(
        label="Window begins",
        widget=UnfoldAdminSplitDateTimeWidget,
        help_text="UTC. From then on submissions are rejected, and the ready ones are frozen.",
    )
    ends_at = SplitDateTimeField(label="Window ends", widget=UnfoldAdminSplitDateTimeWidget, help_text="UTC.")

    objection_days = IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_OBJECTION_DAYS,
        label="Days for objections",
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="After the publication: the result is provisional meanwhile, and teams of the round may object. "
        "Public immediately. 0 for none; empty for the number of the competition.",
    )

    def __init__(self, *args: Any, competitions: QuerySet[Competition], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sets = SampleSet.objects.filter(competition__in=competitions, purpose__in=SECRET, drawn_from=None)
        self.fields["competition"].queryset = competitions  # type: ignore[attr-defined]
        for name in competitions.order_by().values_list("format", flat=True).distinct():
            self.fields |= round_formats[name].plan_fields()
        self.order_fields(["competition", "title", "kind", "schedule", "guard"])
        self.fields["source"].queryset = sets.select_related("competition").order_by("competition", "pk")  # type: ignore[attr-defined]
