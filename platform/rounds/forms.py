"""Forms of the admin's actions on rounds. They check formats only; the services decide what is allowed."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.forms import BooleanField, CharField, ChoiceField, IntegerField, ModelChoiceField, SplitDateTimeField
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminSplitDateTimeWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from competitions.models import Competition, SampleSet
from core.administration.actions import ReasonForm
from rounds.models import Release, Round

SECRET = (SampleSet.Purpose.TEST, SampleSet.Purpose.FINAL)


class PartForm(ReasonForm):
    """The part of a round to release or withdraw."""

    part = ChoiceField(choices=Release.Part.choices, widget=UnfoldAdminSelectWidget)


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
        help_text="A development round makes new pools, but none in the transfer format; the final ranks for prizes.",
    )
    schedule = ChoiceField(
        choices=[(each.value, each.label) for each in Round.Schedule if each is not Round.Schedule.ALL],
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="The ladder costs about two fifths of halving. The panel ladder is its earlier version, which loses "
        "the best where attacks beat each other in cycles. Ignored in the transfer format, where every attack meets "
        "every defence.",
    )
    guard = BooleanField(
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        label="Guarded cuts",
        help_text="Cuts of the panel ladder also keep entrants that are not significantly worse than 5th place. "
        "Not recommended: it costs more and, in simulations, finds no more. Ignored in the transfer format.",
    )
    source = ModelChoiceField(
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

    def __init__(self, *args: Any, competitions: QuerySet[Competition], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sets = SampleSet.objects.filter(competition__in=competitions, purpose__in=SECRET, drawn_from=None)
        self.fields["competition"].queryset = competitions  # type: ignore[attr-defined]
        if not competitions.filter(format=Competition.Format.QUERY).exists():
            del self.fields["schedule"], self.fields["guard"]  # every attack meets every defence
        self.fields["source"].queryset = sets.select_related("competition").order_by("competition", "pk")  # type: ignore[attr-defined]
