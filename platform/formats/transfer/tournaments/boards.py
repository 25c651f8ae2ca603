"""Leaderboards of the transfer format: those who count, with their scores, and those who are being evaluated.

While the leaderboards of a competition are frozen, its public ones are hidden: every score is over the opponents that
are there now, so there is none that was known at the freeze. The caller decides who sees them. A team sees its own
scores meanwhile, without ranks: these would say where the scores of others are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from competitions.models import Competition, Entry, RulesVersion, SampleSet, Track
from core.rank_interval_text import rank_range
from evaluation.formats.transfer.results import RepeatCounts
from formats.transfer.tournaments.engine_runs import sizes_of
from formats.transfer.tournaments.models import DefenceRun, Entrant, Run, Tournament
from formats.transfer.tournaments.selectors import (
    Participant,
    current_entrants,
    participants,
    progress_of,
    repeat_counts,
)
from formats.transfer.tracks import ATTACK_TRACKS
from submissions.models import Submission


@dataclass(frozen=True)
class TransferBoardRow:
    """A row of a leaderboard. `team`, `team_slug` and `submission` are empty for a baseline that no team submitted.

    `score` and `worst` are shares from 0 to 1, `raw` counts images, `opponents` those that count. `rank`, `score`,
    `raw` and `worst` are None if no opponent counts. `low` to `high` is the 95 % interval of the score, `rank_low` to
    `rank_high` the 95 % rank interval; None with too few images.
    """

    rank: int | None
    player: int
    title: str
    team: str
    team_slug: str
    submission: int | None
    ineligible_for_prizes: bool
    score: float | None
    raw: int | None
    worst: float | None
    coverage: float | None
    opponents: int
    median_seconds: float | None
    entered_at: datetime
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None
    baseline: bool
    """Whether it is a baseline, of the competition or a submission that an organiser made one."""
    repeats: RepeatCounts = field(default_factory=RepeatCounts)
    """What became of the images that a defence labelled again."""

    @property
    def fits(self) -> str:
        """The rank interval in words, "" if there is none."""
        return rank_range(self.rank_low, self.rank_high)

    @property
    def without_rank(self) -> TransferBoardRow:
        """The row as a team sees its own while the leaderboards are frozen."""
        return replace(self, rank=None, rank_low=None, rank_high=None)


@dataclass(frozen=True)
class UnderWay:
    """A participant that has not met every opponent yet: `played` of the `needed` runs that are known are played."""

    title: str
    team: str
    team_slug: str
    submission: int | None
    played: int
    needed: int


@dataclass(frozen=True)
class TransferBoard:
    """The leaderboard of a track. `opponents` counts the current players of the other side, `images` the samples."""

    rows: Sequence[TransferBoardRow] = ()
    under_way: Sequence[UnderWay] = ()
    opponents: int = 0
    images: int = 0
    rules: RulesVersion | None = None

    @property
    def has_intervals(self) -> bool:
        """Whether any row has an interval: a column without one is not shown."""
        return any(row.low is not None for row in self.rows)


def tournaments_in_force(competitions: Collection[Competition]) -> dict[int, Tournament]:
    """Return the tournament of the leaderboards of each competition that has one, by its key, in one query."""
    rules = RulesVersion.objects.filter(competition=OuterRef("competition")).order_by("-version")
    sets = SampleSet.objects.filter(
        competition=OuterRef("competition"), purpose=SampleSet.Purpose.VALIDATION, drawn_from__isnull=True
    ).order_by("-pk")
    found = Tournament.objects.filter(
        competition__in=competitions,
        rules=Subquery(rules.values("pk")[:1]),
        sample_set=Subquery(sets.values("pk")[:1]),
    )
    return {each.competition_id: each for each in found.select_related("rules", "sample_set", "competition")}


def tournament_in_force(competition: Competition) -> Tournament | None:
    """Return the tournament of the leaderboards of a competition, None before the first step of it."""
    return tournaments_in_force([competition]).get(competition.pk)


def board_of(track: Track) -> TransferBoard:
    """Return the whole leaderboard of a track, in a number of queries that does not depend on its rows."""
    tournament = tournament_in_force(track.competition)
    if tournament is None:
        return TransferBoard()
    inside = list(current_entrants(tournament))
    attacks = track.name in ATTACK_TRACKS
    opponents = _opponents(inside, attacks=attacks)
    repeats = {} if attacks else repeat_counts(tournament)
    own = in_order(each for each in inside if each.track_id == track.pk)
    rows = [row_of(each, repeats.get(each.player_id)) for each in own]
    present = {(each.player_id, each.submission_id) for each in inside}
    waiting = [each for each in participants(tournament) if each.track == track and each.key not in present]
    under_way = _under_way(tournament, waiting, opponents)
    return TransferBoard(rows, under_way, len(opponents), tournament.sample_set.count, tournament.rules)


def in_order(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Return entrants of one track as a leaderboard lists them: by rank, those without one last."""
    return sorted(entrants, key=lambda each: (each.rank is None, each.rank or 0, each.entered_at, each.pk))


def row_of(entrant: Entrant, repeats: RepeatCounts | None = None) -> TransferBoardRow:
    """Return the row of an entrant that was read with its team, and its repeats if they are known."""
    submission = entrant.submission
    entry = submission.repository.entry if submission else None
    return TransferBoardRow(
        rank=entrant.rank,
        player=entrant.player_id,
        title=submission.title if submission else entrant.player.baseline,
        team=entry.team.name if entry else "",
        team_slug=entry.team.slug if entry else "",
        submission=entrant.submission_id,
        ineligible_for_prizes=entry.ineligible_for_prizes if entry else False,
        score=entrant.score,
        raw=entrant.raw,
        worst=entrant.worst,
        coverage=entrant.coverage,
        opponents=entrant.opponents or 0,
        median_seconds=entrant.median_seconds,
        entered_at=entrant.entered_at,
        low=entrant.low,
        high=entrant.high,
        rank_low=entrant.rank_low,
        rank_high=entrant.rank_high,
        baseline=submission is None or submission.baseline_at is not None,
        repeats=repeats or RepeatCounts(),
    )


def best_of(tracks: Sequence[Track], count: int) -> dict[int, list[TransferBoardRow]]:
    """Return the first `count` submissions with a rank on the leaderboard of each track, by its key, in two queries.

    Baselines are left out; they keep their ranks on the leaderboard.
    """
    found: dict[int, list[TransferBoardRow]] = {track.pk: [] for track in tracks}
    current = tournaments_in_force([track.competition for track in tracks])
    ranked = _with_team(Entrant.objects.filter(tournament__in=current.values(), track__in=tracks, left_at=None))
    ranked = ranked.filter(submission__isnull=False, submission__baseline_at=None, rank__isnull=False)
    for entrant in ranked.order_by("rank", "entered_at", "pk"):
        if len(found[entrant.track_id]) < count:
            found[entrant.track_id].append(row_of(entrant))
    return found


def newest_entrants(track: Track, most: int, entry: Entry | None = None) -> list[Entrant]:
    """Return the submissions with a score that entered the leaderboard of a track last; those of a team for `entry`."""
    tournament = tournament_in_force(track.competition)
    if tournament is None:
        return []
    found = Entrant.objects.filter(tournament=tournament, track=track, left_at=None, submission__isnull=False)
    found = found.filter(submission__baseline_at=None)
    if entry is not None:
        found = found.filter(submission__repository__entry=entry)
    scored = found.filter(score__isnull=False).select_related("submission__repository__track")
    return list(scored.select_related("submission__repository__entry__team").order_by("-entered_at", "-pk")[:most])


def rows_of_entry(entry: Entry) -> dict[str, TransferBoardRow]:
    """Return the rows of a team on the leaderboards of its competition, by the name of the track."""
    tournament = tournament_in_force(entry.competition)
    own = Entrant.objects.filter(tournament=tournament, left_at=None, submission__repository__entry=entry)
    own = own.filter(submission__baseline_at=None)
    return {entrant.track.name: row_of(entrant) for entrant in _with_team(own)} if tournament else {}


def row_of_submission(submission: Submission) -> TransferBoardRow | None:
    """Return the row of a submission on the leaderboard of its track, None unless it counts."""
    tournament = tournament_in_force(submission.repository.track.competition)
    own = Entrant.objects.filter(tournament=tournament, left_at=None, submission=submission)
    entrant = _with_team(own).first() if tournament else None
    if tournament is None or entrant is None:
        return None
    return row_of(entrant, repeat_counts(tournament, [entrant.player_id]).get(entrant.player_id))


def progress_of_submission(tournament: Tournament, submission: Submission) -> tuple[int, int] | None:
    """Return how many of its runs are played, of how many that are known; None unless it is being evaluated."""
    inside = list(current_entrants(tournament))
    waiting = [each for each in participants(tournament) if each.submission == submission]
    if not waiting or any(each.submission_id == submission.pk for each in inside):
        return None
    opponents = _opponents(inside, attacks=waiting[0].attacks)
    (found,) = _under_way(tournament, waiting, opponents)
    return found.played, found.needed


def is_held_up(submission: Submission) -> bool:
    """Return True if a run that a newcomer needs was given up: it does not enter until an organiser replays the run."""
    tournament = tournament_in_force(submission.repository.track.competition)
    if tournament is None or submission.player_id is None:
        return False
    player, failed = submission.player_id, Run.State.FAILED
    inside = tournament.entrants.filter(left_at=None).order_by().values("player")
    if tournament.attack_runs.filter(attack=player, state=failed).exists():
        return True
    pairs = DefenceRun.objects.filter(attack_run__tournament=tournament, state=failed)
    return pairs.filter(
        Q(attack_run__attack=player, defence__in=inside) | Q(defence=player, attack_run__attack__in=inside)
    ).exists()


def _opponents(inside: Iterable[Entrant], *, attacks: bool) -> set[int]:
    """Return the keys of the players of the other side; a baseline and its unchanged copies are one player."""
    return {each.player_id for each in inside if (each.track.name in ATTACK_TRACKS) != attacks}


def _under_way(tournament: Tournament, waiting: Sequence[Participant], opponents: Collection[int]) -> list[UnderWay]:
    if not waiting:
        return []
    progress = progress_of(tournament, len(sizes_of(tournament)))
    found = []
    for each in waiting:
        played, needed = progress.done(each.player.pk, attacks=each.attacks, opponents=opponents)
        team = each.submission.repository.entry.team if each.submission else None
        found.append(
            UnderWay(
                title=each.submission.title if each.submission else each.player.baseline,
                team=team.name if team else "",
                team_slug=team.slug if team else "",
                submission=each.submission.pk if each.submission else None,
                played=played,
                needed=needed,
            )
        )
    return found


def _with_team(entrants: QuerySet[Entrant]) -> QuerySet[Entrant]:
    related = entrants.select_related("track", "player", "submission__repository__entry__team")
    return related.order_by(F("rank").asc(nulls_last=True), "pk")
