"""Names of players with their submissions, so that every page can link them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse

from rounds.models import Round, RoundEntry
from submissions.models import Player, Submission


def by(title: str, team: str) -> str:
    """Return a title with its team: "Owl 3 by The Owls"."""
    return f"{title} by {team}"


@dataclass(frozen=True)
class PlayerName:
    """A player: its title, and where it has them its team and its first submission. Bundled baselines have neither.

    `baseline`: an organiser made that submission a baseline.
    """

    title: str
    team: str = ""
    submission: int | None = None
    baseline: bool = False

    @cached_property
    def url(self) -> str:
        """The address of its submission, "" for a baseline."""
        return reverse("pages:submission", args=[self.submission]) if self.submission else ""

    def __str__(self) -> str:
        return by(self.title, self.team) if self.team else self.title


def names_in(played: Round, players: Iterable[int]) -> dict[int, PlayerName]:
    """Return the name of each player in a round, in one query: the team is the one that entered it first."""
    entries = RoundEntry.objects.filter(round=played, player__in=set(players)).order_by("-order")
    columns = ("player", "submission__title", "submission__repository__entry__team__name", "submission")
    return {player: PlayerName(*values) for player, *values in entries.values_list(*columns)}


def names_of(players: Iterable[int]) -> dict[int, PlayerName]:
    """Return the name of each player, in two queries: the team is the one that submitted it first."""
    known = {player.pk: player for player in Player.objects.filter(pk__in=set(players)).only("title", "baseline")}
    sent = Submission.objects.filter(player__in=[pk for pk, player in known.items() if not player.baseline])
    teams = {
        player: (team, submission, baseline_at is not None)
        for player, team, submission, baseline_at in sent.order_by("-pk").values_list(
            "player", "repository__entry__team__name", "pk", "baseline_at"
        )
    }
    return {pk: PlayerName(player.title, *teams.get(pk, ())) for pk, player in known.items()}
