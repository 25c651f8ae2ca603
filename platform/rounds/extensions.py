"""What rounds add to lower apps, connected by `RoundsConfig.ready`."""

from __future__ import annotations

from django.db.models import QuerySet

from competitions.extension_points import owns_window
from competitions.models import FreezeWindow
from rounds.models import Round
from submissions.extension_points import players_in_records, players_in_use
from submissions.models import Player


@owns_window.add
def is_of_round(window: FreezeWindow) -> bool:
    """Return whether the freeze window is a round's."""
    return Round.objects.filter(window=window).exists()


@players_in_use.add
def entered_players() -> QuerySet[Player]:
    """Return the players of rounds that are still to be played."""
    unplayed = (Round.State.FROZEN, Round.State.PLAYING, Round.State.PAUSED)
    return Player.objects.filter(round_entries__round__state__in=unplayed)


@players_in_records.add
def recorded_players() -> QuerySet[Player]:
    """Return the players of all rounds."""
    return Player.objects.filter(round_entries__isnull=False)
