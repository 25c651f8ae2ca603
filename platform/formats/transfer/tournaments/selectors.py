"""Queries about tournaments: who takes part, how far they are, and the counts of their pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Sum

from competitions.baseline_files import baseline_digest
from competitions.models import Competition, SampleSet, Track
from evaluation.formats.transfer.results import PairCounts, RepeatCounts
from formats.transfer import NAME
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, RepeatRun, Run, Tournament
from formats.transfer.tracks import ATTACK_TRACKS
from submissions.models import Player, Submission
from submissions.removed_images import image_is_gone
from submissions.selectors import ready_submissions, submitted_baselines

AnyRun: TypeAlias = AttackRun | DefenceRun | RepeatRun

KINDS: tuple[type[AttackRun], type[DefenceRun], type[RepeatRun]] = (AttackRun, DefenceRun, RepeatRun)
"""The kinds of runs, in the order in which those of one team are played."""


def players_of(run: AnyRun) -> list[int]:
    """Return the keys of the players that a run starts, and whose images it has."""
    if isinstance(run, AttackRun):
        return [run.attack_id]
    return [run.defence_id, run.attack_run.attack_id] if isinstance(run, DefenceRun) else [run.defence_id]


UNPLAYED = (Run.State.WAITING, Run.State.CLAIMED, Run.State.FAILED)
"""Named one by one, so that the queue's index finds them among the played ones."""


class RequestSide(NamedTuple):
    """Of a participant, what the request of a run depends on: its player, what that does, its team, and since when."""

    player: int
    attacks: bool
    entry_id: int | None
    since: datetime


@dataclass(frozen=True)
class Participant:
    """A player whose runs a tournament needs, and the submission that brought it; None for a baseline."""

    track: Track
    player: Player
    submission: Submission | None
    since: datetime

    @property
    def entry_id(self) -> int | None:
        """Return the key of its team's entry, None for a baseline."""
        return self.submission.repository.entry_id if self.submission else None

    @property
    def key(self) -> tuple[int, int | None]:
        """Return the keys of its player and of its submission."""
        return self.player.pk, self.submission.pk if self.submission else None

    @property
    def attacks(self) -> bool:
        """True for both tracks of attacks."""
        return self.track.name in ATTACK_TRACKS

    @property
    def side(self) -> RequestSide:
        """What the request of a run depends on."""
        return RequestSide(self.player.pk, self.attacks, self.entry_id, self.since)


def current_entrants(tournament: Tournament) -> QuerySet[Entrant]:
    """Return the entrants that count now, best first within a track."""
    return tournament.entrants.filter(left_at=None).select_related(
        "track", "player", "submission__repository__entry__team"
    )


def entered_players(tournament: Tournament) -> tuple[set[int], set[int]]:
    """Return the keys of the players that are entrants now: attacks, and defences."""
    found: tuple[set[int], set[int]] = set(), set()
    for player, track in tournament.entrants.filter(left_at=None).order_by().values_list("player", "track__name"):
        found[track not in ATTACK_TRACKS].add(player)
    return found


def baseline_players(competition: Competition) -> list[tuple[Track, Player]]:
    """Return the baselines of all tracks that have been built from the files that this version bundles."""
    rows = Player.objects.filter(competition=competition, replaced_at=None).exclude(Q(baseline="") | Q(tree_digest=""))
    # of several builds from equal files, on other base images, the first one counts
    built = {(row.track_name, row.baseline, row.tree_digest): row for row in rows.order_by("-pk")}
    wanted = (
        (track, (track.name, name, baseline_digest(track, name)))
        for track in competition.tracks.all()
        for name in track.baselines
    )
    return [(track, built[key]) for track, key in wanted if key in built]


def lost_images(players: Iterable[Player]) -> set[int]:
    """Return the keys of the players whose image the store does not have.

    It is asked only about those with an unplayed run that had a fault, as one without its image has.
    """
    candidates = {player.pk: player for player in players if player.image}
    faulty = {"faults__gt": 0, "state__in": UNPLAYED}
    of_attacks = AttackRun.objects.filter(**faulty, attack__in=candidates).values_list("attack", flat=True)
    of_defences = DefenceRun.objects.filter(**faulty, defence__in=candidates).values_list("defence", flat=True)
    of_repeats = RepeatRun.objects.filter(**faulty, defence__in=candidates).values_list("defence", flat=True)
    return {key for key in {*of_attacks, *of_defences, *of_repeats} if image_is_gone(candidates[key])}


def participants(tournament: Tournament, outside: Sequence[Participant] | None = None) -> list[Participant]:
    """Return those whose runs the leaderboard needs, in the order in which they may enter.

    They are the entrants, the baselines, also those that are submissions, and the newest ready submission of each team
    and track. `outside` are the `newcomers`, if known.
    """
    found: dict[tuple[int, int | None], Participant] = {}
    for entrant in current_entrants(tournament).order_by("entered_at", "pk"):
        found[entrant.player_id, entrant.submission_id] = Participant(
            entrant.track, entrant.player, entrant.submission, entrant.entered_at
        )
    return [*found.values(), *(newcomers(tournament) if outside is None else outside)]


def entered_sides(tournament: Tournament) -> list[RequestSide]:
    """Return the sides of the entrants that count now, in the order in which they entered. Without their rows."""
    rows = tournament.entrants.filter(left_at=None).order_by("entered_at", "pk")
    columns = ("player", "track__name", "submission__repository__entry", "entered_at")
    return [
        RequestSide(player, track in ATTACK_TRACKS, entry, at)
        for player, track, entry, at in rows.values_list(*columns)
    ]


def newcomers(tournament: Tournament) -> list[Participant]:
    """Return the participants that are no entrants yet, in the order in which they may enter."""
    inside: set[tuple[int, int | None]] = set(
        tournament.entrants.filter(left_at=None).order_by().values_list("player", "submission")
    )
    baselines = [
        Participant(track, player, None, player.created_at)
        for track, player in baseline_players(tournament.competition)
        if (player.pk, None) not in inside
    ]
    ready = ready_submissions().filter(repository__track__competition=tournament.competition)
    newest = {row[0]: row[1:] for row in ready.order_by("pk").values_list("repository", "player", "pk")}
    marked = submitted_baselines().filter(repository__track__competition=tournament.competition)
    wanted = [*newest.values(), *marked.order_by("pk").values_list("player", "pk")]
    # keys first: nearly all of them are entrants
    outside = [submission for player, submission in wanted if (player, submission) not in inside]
    rows = Submission.objects.filter(pk__in=outside).select_related(
        "repository__track", "repository__entry__team", "player"
    )
    return baselines + [
        Participant(row.repository.track, row.player, row, row.received_at)
        for row in (rows.order_by("pk") if outside else ())
        if row.player is not None
    ]


def without_a_score() -> QuerySet[Submission]:
    """Return the submissions that count now, as `newcomers` has them, and never were on a leaderboard."""
    newer = ready_submissions().filter(repository=OuterRef("repository"), pk__gt=OuterRef("pk"))
    entered = Entrant.objects.filter(submission=OuterRef("pk"), tournament__fixed=False)
    ready = Submission.objects.filter(state=Submission.State.READY, disqualified_at=None)
    counting = ready.filter(Q(baseline_at__isnull=False) | ~Exists(newer))
    return counting.filter(~Exists(entered), repository__track__competition__format=NAME)


@dataclass(frozen=True)
class RunProgress:
    """Which runs of a tournament are played."""

    batches: int
    attacked: dict[int, int]
    """Number of played batches of each attack."""
    to_label: dict[int, int]
    """Number of those with an image, which defences label."""
    labelled: dict[tuple[int, int], int]
    """Number of played batches of each attack and defence."""

    def attack_is_played(self, attack: int) -> bool:
        """Return True if the attack was run on every batch."""
        return self.attacked.get(attack, 0) == self.batches

    def pair_is_played(self, attack: int, defence: int) -> bool:
        """Return True if the attack was run on every batch, and the defence on everything that it made."""
        return self.attack_is_played(attack) and self.labelled.get((attack, defence), 0) == self.to_label.get(attack, 0)

    def done(self, player: int, *, attacks: bool, opponents: Iterable[int]) -> tuple[int, int]:
        """Return how many runs of a player against `opponents` are played, of how many that are known to be needed."""
        if attacks:
            needed = self.batches + sum(self.to_label.get(player, 0) for _ in opponents)
            played = self.attacked.get(player, 0) + sum(self.labelled.get((player, each), 0) for each in opponents)
            return played, needed
        needed = sum(self.to_label.get(each, 0) for each in opponents)
        return sum(self.labelled.get((each, player), 0) for each in opponents), needed


def has_unplayed_runs(tournament: Tournament) -> bool:
    """Return True if a requested run is not played yet, or was given up."""
    return (
        tournament.attack_runs.filter(state__in=UNPLAYED).exists()
        or DefenceRun.objects.filter(attack_run__tournament=tournament, state__in=UNPLAYED).exists()
        or tournament.repeat_runs.filter(state__in=UNPLAYED).exists()
    )


def unplayed_of_pairs(tournament: Tournament) -> dict[tuple[int, int], int]:
    """Return the number of requested runs of each attack and defence that are not played yet, or were given up."""
    runs = DefenceRun.objects.filter(attack_run__tournament=tournament, state__in=UNPLAYED).order_by()
    rows = runs.values_list("attack_run__attack", "defence").annotate(number=Count("pk"))
    return {(attack, defence): number for attack, defence, number in rows}


def progress_of(tournament: Tournament, batches: int) -> RunProgress:
    """Return which runs are played; `batches` is the number of batches of the tournament."""
    return _progress(batches, tournament.attack_runs.all(), pair_totals.labelled_batches(tournament))


def progress_of_players(
    tournament: Tournament, batches: int, *, attacks: Collection[int] = (), defences: Collection[int] = ()
) -> RunProgress:
    """Return the same of some players: what these attacks were run on, and all pairs of one of them.

    Runs of other attacks are counted only where there are defences, which meet all of them.
    """
    runs = tournament.attack_runs.all() if defences else tournament.attack_runs.filter(attack__in=attacks)
    return _progress(batches, runs, pair_totals.labelled_batches(tournament, {*attacks, *defences}))


def _progress(batches: int, runs: QuerySet[AttackRun], labelled: dict[tuple[int, int], int]) -> RunProgress:
    attacked: dict[int, int] = {}
    to_label: dict[int, int] = {}
    rows = runs.filter(state=Run.State.PLAYED).order_by().values_list("attack")
    for attack, count, made in rows.annotate(count=Count("pk"), made=Count("pk", filter=Q(made__gt=0))):
        attacked[attack], to_label[attack] = count, made
    return RunProgress(batches, attacked, to_label, labelled)


def ever_held(source: SampleSet) -> bool:
    """Return True if a worker has held a batch of the samples, or of samples drawn from them."""
    of_source = Q(tournament__sample_set=source) | Q(tournament__sample_set__drawn_from=source)
    return AttackRun.objects.filter(of_source, fence__gt=0).exists()


def counts_from_runs(
    tournament: Tournament, attacks: Iterable[Player], defences: Iterable[Player], epsilon: int | None = None
) -> list[PairCounts]:
    """Return the same as `pair_totals.pair_counts` from the runs themselves, all of them or those of one `epsilon`."""
    attacks, defences = list(attacks), list(defences)
    attack_runs = tournament.attack_runs.filter(attack__in=[each.pk for each in attacks], state=Run.State.PLAYED)
    defence_runs = DefenceRun.objects.filter(
        attack_run__in=attack_runs.values("pk"), defence__in=[each.pk for each in defences], state=Run.State.PLAYED
    )
    if epsilon is not None:
        attack_runs = attack_runs.filter(epsilon=epsilon)
        defence_runs = defence_runs.filter(attack_run__epsilon=epsilon)
    sums = attack_runs.order_by().values_list("attack").annotate(all=Sum("images"), made_all=Sum("made"))
    made = {attack: (images, count) for attack, images, count in sums}
    answers = {
        (attack, defence): counts
        for attack, defence, *counts in defence_runs.order_by()
        .values_list("attack_run__attack", "defence")
        .annotate(labels_given=Sum("labelled"), right=Sum("correct"), hit=Sum("hits"))
    }
    return pair_totals.paired(attacks, defences, made, answers)


def seconds_from_runs(tournament: Tournament, players: Iterable[Player]) -> dict[str, list[float]]:
    """Return the same as `pair_totals.seconds_of` from the runs themselves."""
    keys = [player.pk for player in players]
    found: dict[str, list[float]] = defaultdict(list)
    played = Q(state=Run.State.PLAYED)
    for player, seconds in AttackRun.objects.filter(played, tournament=tournament, attack__in=keys).values_list(
        "attack", "seconds"
    ):
        found[str(player)].append(seconds or 0.0)
    for player, seconds in DefenceRun.objects.filter(
        played, attack_run__tournament=tournament, attack_run__attack__in=keys, defence__in=keys
    ).values_list("defence", "seconds"):
        found[str(player)].append(seconds or 0.0)
    return dict(found)


@dataclass(frozen=True)
class RunQueue:
    """Runs of all tournaments: those that wait, with the time since when the oldest does, and those being played."""

    waiting: int
    claimed: int
    oldest_since: datetime | None


def run_queue() -> RunQueue:
    """Return the runs that are still to be played. Those of suspended and ended tournaments are not."""
    waiting = claimed = 0
    since: list[datetime] = []
    for kind in KINDS:
        found = open_runs(kind).aggregate(
            waiting=Count("pk", filter=Q(state=Run.State.WAITING)),
            claimed=Count("pk", filter=Q(state=Run.State.CLAIMED)),
            since=Min("queued_at", filter=Q(state=Run.State.WAITING)),
        )
        waiting, claimed = waiting + found["waiting"], claimed + found["claimed"]
        since += [found["since"]] if found["since"] else []
    return RunQueue(waiting, claimed, min(since, default=None))


def open_runs(kind: type[AnyRun]) -> QuerySet[Any]:
    """Return the runs of tournaments that are neither suspended nor ended nor of an archived competition."""
    tournament = "attack_run__tournament" if kind is DefenceRun else "tournament"
    open_ones = {"suspended": False, "ended_at": None, "competition__archived_at": None}
    return kind.objects.filter(**{f"{tournament}__{name}": value for name, value in open_ones.items()})


def repeat_counts(tournament: Tournament, defences: Collection[int] | None = None) -> dict[int, RepeatCounts]:
    """Return what became of the images that each defence labelled again, by its key; only `defences`, if given."""
    played = RepeatRun.objects.filter(tournament=tournament, state=Run.State.PLAYED)
    if defences is not None:
        played = played.filter(defence__in=defences)
    found: dict[int, RepeatCounts] = {}
    for defence, images, changed, lost, gained in played.values_list("defence", "images", "changed", "lost", "gained"):
        counts = RepeatCounts(len(images), changed or 0, lost or 0, gained or 0)
        found[defence] = found.get(defence, RepeatCounts()) + counts
    return found


def with_open_runs() -> QuerySet[Tournament]:
    """Return the tournaments with runs that may still be played."""
    unfinished = (Run.State.WAITING, Run.State.CLAIMED)
    attacks = AttackRun.objects.filter(tournament=OuterRef("pk"), state__in=unfinished)
    defences = DefenceRun.objects.filter(attack_run__tournament=OuterRef("pk"), state__in=unfinished)
    repeats = RepeatRun.objects.filter(tournament=OuterRef("pk"), state__in=unfinished)
    return Tournament.objects.filter(Exists(attacks) | Exists(defences) | Exists(repeats), ended_at=None)


def stuck_runs(kind: type[AnyRun]) -> QuerySet[Any]:
    """Return the waiting runs that would have been given up, if their faults had been on two hosts."""
    return open_runs(kind).filter(Run.STUCK, state=Run.State.WAITING)


def held_by_workers() -> Counter[str]:
    """Return the number of runs that each worker holds, by its name."""
    claimed = [kind.objects.filter(state=Run.State.CLAIMED) for kind in KINDS]
    return Counter(worker for runs in claimed for worker in runs.values_list("worker", flat=True))
