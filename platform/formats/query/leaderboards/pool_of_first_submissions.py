"""The members of a track's first pool: its baselines, and the first ready submissions where they are too few."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from django.db.models import Exists, OuterRef, Q, QuerySet

from competitions.models import Track
from formats.query.leaderboards.evaluation_basis import COUNTED, counting, pool_in_force, valid, valid_baselines
from formats.query.leaderboards.models import Evaluation
from formats.query.tracks import MODEL
from submissions.models import Player, Submission


def first_players(track: Track, maximum: int) -> list[Player] | None:
    """Return the players that the first pool of a track should have, at most `maximum`; None if it is up to date.

    Members stay, and submissions that organisers made baselines are added, then the first submission of each further
    team that may join (see `_joining`). Disqualified and inconsistent submissions leave. A withdrawn submission stays,
    so that no team can change the pool at will, and so do baselines. Where new rules allow fewer, the last ones leave.
    """
    pool = pool_in_force(track)
    if not pool.of_first_submissions if pool else track.baselines:  # the baselines are still to be built
        return None
    before = [place.player for place in pool.places.select_related("player")] if pool else []
    staying = _staying(track, before)
    players = [player for player in before if player.baseline or player.pk in staying]
    baselines = valid_baselines().filter(repository__track=track).order_by("baseline_at", "pk")
    marked = [each.player for each in baselines.select_related("player") if each.player is not None]
    players += [each for each in dict.fromkeys(marked) if each not in players][: max(0, maximum - len(players))]
    if len(players) < maximum:
        players += list(islice(_further(track, players, but=marked), maximum - len(players)))
    players = players[:maximum]
    return players if players and players != before else None


def _further(track: Track, players: Sequence[Player], *, but: Collection[Player]) -> Iterator[Player]:
    """Yield the first player of each team that has none among `players`, `but` for those that are baselines."""
    seen = set(players)
    submitted = [player for player in players if not player.baseline and player not in but]
    teams = set(_submissions(track).filter(player__in=submitted).values_list("repository__entry", flat=True))
    for submission in _joining(track).select_related("repository", "player"):
        player, team = submission.player, submission.repository.entry_id
        if player is not None and player not in seen and team not in teams:
            seen.add(player)
            teams.add(team)
            yield player


def _joining(track: Track) -> QuerySet[Submission]:
    """Return the submissions that may join, in order: those that count.

    Beside baselines, a model also needs a score above 0. The score is 0 where it is wrong on more than half of the
    images, and so is the score of every untargeted attack against a pool of such models.
    """
    ready = counting().filter(repository__track=track, player__isnull=False).order_by("state_since", "pk")
    if track.name != MODEL or not track.baselines:
        return ready
    return ready.filter(Exists(Evaluation.objects.filter(COUNTED, submission=OuterRef("pk"), value__gt=0)))


def _staying(track: Track, players: Sequence[Player]) -> set[int | None]:
    """Return the keys of the players with a submission that counts, is a baseline, or was withdrawn."""
    own = Q(repository__track=track, player__in=players)
    withdrawn = Submission.objects.filter(own, state=Submission.State.WITHDRAWN, disqualified_at__isnull=True)
    return {player for rows in (withdrawn, valid().filter(own)) for player in rows.values_list("player", flat=True)}


def _submissions(track: Track) -> QuerySet[Submission]:
    return Submission.objects.filter(repository__track=track)
