"""What a new version of the rules makes again: every match of the submissions that count."""

from __future__ import annotations

from competitions.formats import RepeatedWork
from competitions.models import Competition
from formats.query.leaderboards.evaluation_basis import AT_ONCE, evaluated_again, measured_tracks, ranking_basis
from formats.query.matches.models import Piece
from formats.query.matches.selectors import RECENT_PIECES
from formats.query.tracks import MODEL


def repeated_evaluations(competition: Competition) -> RepeatedWork:
    """Return what the leaderboards measure again under a new version; a match of two of them is played once."""
    submissions, late = 0, False
    pairs: dict[tuple[int | None, int | None], int] = {}
    for track in measured_tracks().filter(competition=competition):
        basis = ranking_basis(track)
        if basis is not None:
            players = list(evaluated_again(track).values_list("player", flat=True))
            opponents = list(basis.pool.places.values_list("player", flat=True))
            met = [(own, other) if track.name == MODEL else (other, own) for own in players for other in opponents]
            pairs |= dict.fromkeys(met, basis.sample_set.count)
            submissions, late = submissions + len(players), late or len(players) > AT_ONCE
    seconds = _seconds_for_a_sample(competition)
    return RepeatedWork(
        submissions,
        None if seconds is None else seconds * sum(pairs.values()),
        f"The best {AT_ONCE} of each track are first, the others follow when workers are idle."
        if late and not competition.rescore_all
        else "",
    )


def _seconds_for_a_sample(competition: Competition) -> float | None:
    """Return the mean time of a sample in the last played pieces of the competition, None if there are none."""
    played = Piece.objects.filter(
        match__rules__competition=competition, state=Piece.State.PLAYED, count__gt=0, seconds__isnull=False
    )
    rows = list(played.order_by("-played_at", "-pk").values_list("count", "seconds")[:RECENT_PIECES])
    return sum(seconds or 0.0 for _, seconds in rows) / sum(count for count, _ in rows) if rows else None
