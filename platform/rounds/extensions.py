"""What rounds add to lower apps, connected by `RoundsConfig.ready`."""

from __future__ import annotations

from django.db.models import QuerySet

from competitions.extension_points import (
    Records,
    check_before_archiving,
    deleted_with,
    drawn_for_rounds,
    owns_window,
    records_of,
)
from competitions.models import Competition, FreezeWindow, SampleSet
from core.errors import Refusal
from rounds.models import Release, Round
from rounds.release.embargo import OVER
from submissions.extension_points import players_in_records, players_in_use, published_titles
from submissions.models import Player, Submission


@owns_window.add
def is_of_round(window: FreezeWindow) -> bool:
    """Return whether the freeze window is a round's."""
    return Round.objects.filter(window=window).exists()


@drawn_for_rounds.add
def sets_of_open_rounds() -> QuerySet[SampleSet]:
    """Return the sets of rounds that are neither published nor cancelled."""
    return SampleSet.objects.filter(round__isnull=False).exclude(round__state__in=OVER)


@records_of.add
def frozen_rounds(competition: Competition) -> Records:
    """Return how many rounds of the competition were frozen."""
    return Records(competition.rounds.exclude(rules=None).count(), "round")


@check_before_archiving.add
def require_none_under_way(competition: Competition) -> None:
    """Raise `Refusal` while a round is under way."""
    if round_ := competition.rounds.filter(state__in=Round.UNDER_WAY).first():
        raise Refusal(
            f"{round_.title} is {round_.get_state_display()}", fix="publish or cancel it, then archive the competition"
        )


@deleted_with.add
def planned_rounds_of(competition: Competition) -> list[QuerySet[Round]]:
    """Return the rounds that were only planned."""
    return [competition.rounds.all()]


@players_in_use.add
def entered_players() -> QuerySet[Player]:
    """Return the players of rounds that are still to be played."""
    unplayed = (Round.State.FROZEN, Round.State.PLAYING, Round.State.PAUSED)
    return Player.objects.filter(round_entries__round__state__in=unplayed)


@players_in_records.add
def recorded_players() -> QuerySet[Player]:
    """Return the players of all rounds."""
    return Player.objects.filter(round_entries__isnull=False)


@published_titles.add
def bundles_with_the_title(submission: Submission) -> list[str]:
    """Return a sentence on each released bundle with the title of the submission."""
    bundles = Release.objects.filter(part=Release.Part.BUNDLE, withdrawn_at=None)
    holding = bundles.filter(round__entries__submission=submission, round__entries__title_hidden=False)
    return [
        f"The released bundle of {release.round.title} holds its title, and stays as it is because it is signed. To "
        "take the title out, hide the submission, then withdraw the bundle and release it again."
        for release in holding.select_related("round").order_by("round__number")
    ]
