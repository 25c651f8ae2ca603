"""What matches add to lower apps, connected by `MatchesConfig.ready`."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from competitions.extension_points import Records, records_of, sets_in_use
from competitions.models import Competition, SampleSet
from formats.query.matches import kept_frames
from formats.query.matches.models import Match
from formats.query.matches.piece_work import pieces
from operations.backups.extension_points import put_right
from submissions.extension_points import players_in_use
from submissions.models import Player
from workers.work_kind_interface import kinds

kinds.append(pieces)

UNFINISHED = (Match.State.WAITING, Match.State.PLAYING, Match.State.AUDIT, Match.State.SUSPENDED)


@sets_in_use.add
def played_sets() -> QuerySet[SampleSet]:
    """Return the sample sets that matches play."""
    return SampleSet.objects.filter(matches__isnull=False)


@records_of.add
def requested_matches(competition: Competition) -> Records:
    """Return how many matches the competition has."""
    return Records(Match.objects.filter(rules__competition=competition).count(), "match")


@put_right.add
def pieces_without_frames() -> None:
    """Let pieces be played again whose frames were removed after the backup."""
    kept_frames.play_again_without()


@players_in_use.add
def playing_players() -> QuerySet[Player]:
    """Return the players of unfinished matches."""
    unfinished = Match.objects.filter(state__in=UNFINISHED)
    return Player.objects.filter(Q(pk__in=unfinished.values("model")) | Q(pk__in=unfinished.values("attack")))
