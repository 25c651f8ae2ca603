"""The members of the first pool of a track without baselines."""

from __future__ import annotations

from django.db.models import QuerySet

from competitions.models import Track
from formats.query.leaderboards.evaluation_basis import counting, pool_in_force
from submissions.models import Player, Submission


def first_players(track: Track, maximum: int) -> list[Player] | None:
    """Return the players that the first pool of a track should have, at most `most`; None if it is up to date.

    Members stay, and the first ready submission of each further team that counts is added. Disqualified and
    inconsistent submissions leave. A withdrawn submission stays, so that no team can change the pool at will.
    """
    pool = pool_in_force(track)
    if track.baselines or (pool is not None and not pool.of_first_submissions):
        return None
    before = [place.player for place in pool.places.select_related("player")] if pool else []
    players = [player for player in before if _stays(track, player)]
    teams = set(_submissions(track).filter(player__in=players).values_list("repository__entry", flat=True))
    joining = counting().filter(repository__track=track, player__isnull=False).order_by("state_since", "pk")
    for submission in joining.select_related("repository", "player"):
        if len(players) >= maximum:
            break
        player, team = submission.player, submission.repository.entry_id
        if player is not None and player not in players and team not in teams:
            players.append(player)
            teams.add(team)
    return players if players and players != before else None


def _stays(track: Track, player: Player) -> bool:
    own = _submissions(track).filter(player=player)
    withdrawn = own.filter(state=Submission.State.WITHDRAWN, disqualified_at__isnull=True)
    return withdrawn.exists() or counting().filter(pk__in=own).exists()


def _submissions(track: Track) -> QuerySet[Submission]:
    return Submission.objects.filter(repository__track=track)
