"""What a new version of the rules makes again: every match of the submissions that count."""

from __future__ import annotations

from competitions.formats import RepeatedWork
from competitions.models import Competition
from formats.query.leaderboards.evaluation_basis import AT_ONCE, evaluated_again, measured_tracks, ranking_basis
from formats.query.matches.measured_time_and_disk import measured_speed
from formats.query.matches.models import Piece
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
    speed = measured_speed(Piece.objects.filter(match__rules__competition=competition))
    return RepeatedWork(
        submissions,
        None if speed is None else speed.seconds_per_sample * sum(pairs.values()),
        f"The best {AT_ONCE} of each track are first, the others follow when workers are idle."
        if late and not competition.rescore_all
        else "",
    )
