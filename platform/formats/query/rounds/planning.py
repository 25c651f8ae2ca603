"""The planning of a round of the query format: its schedule, and the sides that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import TextChoices
from django.forms import BooleanField, ChoiceField, Field
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldBooleanSwitchWidget

from core.errors import Refusal
from formats.query.tracks import MODEL, UNTARGETED
from rounds.models import RoundEntry

_NEEDED = (MODEL, UNTARGETED)
"""Without these tracks nothing can be ranked. A round can run without targeted attacks."""


class RoundSchedule(TextChoices):
    """The schedules of rounds, as `evaluation.formats.query.tournament` names them."""

    LADDER_2 = "ladder-2", "ladder"
    LADDER = "ladder", "panel ladder"
    HALVING = "halving", "halving, as in 2018"


def plan_fields() -> Mapping[str, Field]:
    """Return the fields of the form that plans a round for its schedule."""
    return {
        "schedule": ChoiceField(
            choices=RoundSchedule.choices,
            required=False,
            widget=UnfoldAdminSelectWidget,
            help_text="The ladder costs about two fifths of halving, which finds the best model more often where "
            "attacks know the families of models. The panel ladder is an earlier version, which loses the best where "
            "attacks beat each other in cycles. Only the query format has schedules.",
        ),
        "guard": BooleanField(
            required=False,
            widget=UnfoldBooleanSwitchWidget,
            label="Guarded cuts",
            help_text="Cuts of the panel ladder also keep entrants that are not significantly worse than 5th place. "
            "Not recommended: it costs more and, in simulations, finds no more. Only the query format has cuts.",
        ),
    }


def chosen_schedule(schedule: str, *, guard: bool) -> tuple[str, bool]:
    """Return the schedule and the guard of a planned round. Raise `Refusal` for those that do not exist."""
    if schedule not in RoundSchedule.values:
        raise Refusal(f"{schedule!r} is not a schedule", fix=f"choose one of {', '.join(RoundSchedule.values)}")
    if guard and schedule != RoundSchedule.LADDER:
        raise Refusal(
            f"the schedule {schedule} has no guarded cuts", fix="choose the panel ladder, or turn guarded cuts off"
        )
    return schedule, guard


def check_sides(entries: Sequence[RoundEntry]) -> None:
    """Raise `Refusal` where a round with `entries` could rank nothing."""
    owners: dict[str, dict[int | None, int]] = {track_name: {} for track_name in _NEEDED}
    for entry in sorted(entries, key=lambda entry: entry.order):
        if entry.track.name in owners:
            # the first team to submit equal content owns it: a copy does not make a pair of two teams
            owners[entry.track.name].setdefault(entry.player_id, entry.submission.repository.entry_id)
    for track_name, players in owners.items():
        if not players:
            raise Refusal(
                f"no submission to the {track_name} track was ready when the window began",
                fix="cancel this round, and plan another when there is one",
            )
    if len({team for of in owners.values() for team in of.values()}) == 1:
        raise Refusal(
            "all entries belong to one team or are copies, and a team's attack is not scored on its own models",
            fix="cancel this round, and plan another when a second team has entered",
        )
