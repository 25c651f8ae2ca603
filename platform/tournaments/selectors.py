"""Queries about tournaments: who takes part, how far they are, and the counts of their pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from django.db.models import Count, Min, Q, QuerySet, Sum

from competitions.bundled_baselines import bundled_digest
from competitions.models import Competition, SampleSet, Track
from evaluation.domain.transfer_results import PairCounts, RepeatCounts
from evaluation.domain.transfer_rules import TransferTrack
from submissions.models import Player, Submission
from tournaments.models import AttackRun, DefenceRun, Entrant, RepeatRun, Run, Tournament

ATTACKING = (Track.Name.ATTACK, Track.Name.TARGETED_ATTACK)
"""The tracks of attacks."""

AnyRun: TypeAlias = AttackRun | DefenceRun | RepeatRun

KINDS: tuple[type[AttackRun], type[DefenceRun], type[RepeatRun]] = (AttackRun, DefenceRun, RepeatRun)
"""The kinds of runs, in the order in which those of one team are played."""


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
        return self.track.name in ATTACKING


def current_entrants(tournament: Tournament) -> QuerySet[Entrant]:
    """Return the entrants that count now, best first within a track."""
    return tournament.entrants.filter(left_at=None).select_related(
        "track", "player", "submission__repository__entry__team"
    )


def ready_submissions(competition: Competition) -> dict[int, Submission]:
    """Return the newest ready submission of each repository, by the key of the repository."""
    rows = Submission.objects.filter(
        repository__track__competition=competition, state=Submission.State.READY, disqualified_at=None
    )
    rows = rows.select_related("repository__track", "repository__entry__team", "player").order_by("pk")
    return {row.repository_id: row for row in rows}


def baseline_players(competition: Competition) -> list[tuple[Track, Player]]:
    """Return the baselines of all tracks that have been built from the files that this version bundles."""
    rows = Player.objects.filter(competition=competition).exclude(Q(baseline="") | Q(tree_digest=""))
    # of several builds from equal files, on other base images, the first one counts
    built = {(row.track_name, row.baseline, row.tree_digest): row for row in rows.order_by("-pk")}
    wanted = (
        (track, (track.name, name, bundled_digest(track.name, name)))
        for track in competition.tracks.all()
        for name in track.baselines
    )
    return [(track, built[key]) for track, key in wanted if key in built]


def participants(tournament: Tournament) -> list[Participant]:
    """Return those whose runs the leaderboard needs, in the order in which they may enter.

    They are the entrants, the baselines, and the newest ready submission of each team and track.
    """
    found: dict[tuple[int, int | None], Participant] = {}
    for entrant in current_entrants(tournament).order_by("entered_at", "pk"):
        found[entrant.player_id, entrant.submission_id] = Participant(
            entrant.track, entrant.player, entrant.submission, entrant.entered_at
        )
    for track, player in baseline_players(tournament.competition):
        found.setdefault((player.pk, None), Participant(track, player, None, player.created_at))
    for submission in sorted(ready_submissions(tournament.competition).values(), key=lambda row: row.pk):
        if submission.player is not None:
            found.setdefault(
                (submission.player_id or 0, submission.pk),
                Participant(submission.repository.track, submission.player, submission, submission.received_at),
            )
    return list(found.values())


@dataclass(frozen=True)
class Progress:
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
        tournament.attack_runs.exclude(state=Run.State.PLAYED).exists()
        or DefenceRun.objects.filter(attack_run__tournament=tournament).exclude(state=Run.State.PLAYED).exists()
        or tournament.repeat_runs.exclude(state=Run.State.PLAYED).exists()
    )


def progress_of(tournament: Tournament, batches: int, players: Collection[int] | None = None) -> Progress:
    """Return which runs are played; `batches` is the number of batches of the tournament.

    With `players`, only the labels given by them and to their images are counted.
    """
    attacked: Counter[int] = Counter()
    to_label: Counter[int] = Counter()
    rows = tournament.attack_runs.filter(state=Run.State.PLAYED).order_by().values_list("attack")
    for attack, count, made in rows.annotate(count=Count("pk"), made=Count("pk", filter=Q(made__gt=0))):
        attacked[attack], to_label[attack] = count, made
    of_players = Q() if players is None else Q(attack_run__attack__in=players) | Q(defence__in=players)
    labelled = (
        DefenceRun.objects.filter(of_players, attack_run__tournament=tournament, state=Run.State.PLAYED)
        .order_by()
        .values_list("attack_run__attack", "defence")
        .annotate(count=Count("pk"))
    )
    return Progress(
        batches, dict(attacked), dict(to_label), {(attack, defence): count for attack, defence, count in labelled}
    )


def ever_held(source: SampleSet) -> bool:
    """Return True if a worker has held a batch of the samples, or of samples drawn from them."""
    of_source = Q(tournament__sample_set=source) | Q(tournament__sample_set__drawn_from=source)
    return AttackRun.objects.filter(of_source, fence__gt=0).exists()


def pair_counts(
    tournament: Tournament, attacks: Iterable[Player], defences: Iterable[Player], epsilon: int | None = None
) -> list[PairCounts]:
    """Return the counts of each attack against each defence, which name their players by key.

    Over all played batches, or those of one `epsilon`. Batches that were not attacked yet are not counted.
    """
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
    pairs = []
    for attack in attacks:
        if attack.pk not in made:
            continue
        images, count = made[attack.pk]
        for defence in defences:
            labelled, correct, hits = answers.get((attack.pk, defence.pk), (0, 0, 0))
            pairs.append(
                PairCounts(
                    attack=str(attack.pk),
                    defence=str(defence.pk),
                    targeted=attack.track_name == TransferTrack.TARGETED_ATTACK,
                    images=images,
                    made=count,
                    labelled=labelled,
                    correct=correct,
                    hits=hits,
                )
            )
    return pairs


def seconds_of(tournament: Tournament, players: Iterable[Player]) -> dict[str, list[float]]:
    """Return the seconds of each player's batches, by its key as a text."""
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
    """Return the runs of tournaments that are neither suspended nor ended."""
    tournament = "attack_run__tournament" if kind is DefenceRun else "tournament"
    return kind.objects.filter(**{f"{tournament}__suspended": False, f"{tournament}__ended_at": None})


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


def stuck_runs(kind: type[AnyRun]) -> QuerySet[Any]:
    """Return the waiting runs that would have been given up, if their faults had been on two hosts."""
    return open_runs(kind).filter(Run.STUCK, state=Run.State.WAITING)


def held_by_workers() -> Counter[str]:
    """Return the number of runs that each worker holds, by its name."""
    claimed = [kind.objects.filter(state=Run.State.CLAIMED) for kind in KINDS]
    return Counter(worker for runs in claimed for worker in runs.values_list("worker", flat=True))
