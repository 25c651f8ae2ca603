"""Tournaments with a fixed field, those of rounds: everybody meets everybody, and nobody enters or leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from competitions.models import RulesVersion
from core import clock, worker_notifications
from formats.transfer.tournaments import run_queue, step_notifications
from formats.transfer.tournaments.engine_runs import sizes_of, tournament_seed
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, RepeatRun, Run, Tournament
from formats.transfer.tournaments.ranking import fill_intervals, rank
from formats.transfer.tournaments.run_requests import request_following, request_runs
from formats.transfer.tournaments.selectors import (
    AnyRun,
    Participant,
    current_entrants,
    entered_sides,
    has_unplayed_runs,
    progress_of,
    stuck_runs,
)
from formats.transfer.tournaments.signals import field_played
from rounds.models import Round


def make(round_: Round, rules: RulesVersion, field: Sequence[Participant]) -> Tournament:
    """Make the tournament of `field` on the samples of a round. Nothing is played until it is resumed."""
    now, sample_set = clock.database_now(), round_.sample_set
    made = Tournament.objects.create(
        competition=sample_set.competition,
        rules=rules,
        sample_set=sample_set,
        round=round_,
        seed=tournament_seed(rules, sample_set),
        made_at=now,
        fixed=True,
        suspended=True,
    )
    Entrant.objects.bulk_create(
        Entrant(tournament=made, track=each.track, player=each.player, submission=each.submission, entered_at=now)
        for each in field
    )
    return made


def suspend(tournament: Tournament) -> None:
    """Let no further run be claimed; those that are held are finished and kept."""
    Tournament.objects.filter(pk=tournament.pk).update(suspended=True)


def resume(tournament: Tournament) -> None:
    """Let runs be claimed (again)."""
    Tournament.objects.filter(pk=tournament.pk).update(suspended=False)
    worker_notifications.notify("tournaments.advance", tournament=tournament.pk)
    worker_notifications.notify("workers.play")


def end(tournament: Tournament) -> None:
    """Let nothing be played any more; what was played is kept, and what workers hold is stopped."""
    Tournament.objects.filter(pk=tournament.pk, ended_at=None).update(ended_at=clock.database_now())
    run_queue.take_back([tournament])


def end_ranked(tournament: Tournament) -> None:
    """Rank the entrants, and end the tournament. Raise `Fault` if counts contradict each other."""
    rank(tournament)
    fill_intervals(tournament)
    end(tournament)


def advance(tournament: Tournament) -> None:
    """Request what is missing, and send `field_played` once nothing is. Safe to repeat and concurrently."""
    if not request_missing(tournament) and is_over(tournament):
        field_played.send(sender=Tournament, tournament=tournament)


def follow_up(tournament: Tournament) -> None:
    """Do the same after a commit, without reading all runs until everything that was requested is played."""
    with transaction.atomic():
        current = _playing(tournament)
        if current is None:
            return
        requested = request_following(current, partial(entered_sides, current))
    if not requested and is_over(tournament):
        advance(tournament)  # repeated runs follow when all others are played


def request_missing(tournament: Tournament) -> int:
    """Request the runs that are missing; return how many. Nothing is requested while it is suspended."""
    step_notifications.begin(tournament)
    sizes = sizes_of(tournament)
    with transaction.atomic():
        current = _playing(tournament)
        if current is None:
            return 0
        waited = run_queue.anything_waits()
        requested = request_runs(current, field_of(current), sizes)
        if requested and not waited:  # else workers pass a notification on already
            worker_notifications.notify("workers.play")
        return requested


def _playing(tournament: Tournament) -> Tournament | None:
    """Return the locked tournament, None while it is suspended and once it has ended."""
    current = Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
    return None if current.suspended or current.ended_at is not None else current


def field_of(tournament: Tournament) -> list[Participant]:
    """Return who takes part, in the order of entry."""
    rows = current_entrants(tournament).order_by("pk")
    return [Participant(row.track, row.player, row.submission, row.entered_at) for row in rows]


def is_over(tournament: Tournament) -> bool:
    """Return True if every attack was run on every batch, and every defence on everything that they made.

    The images that defences label again are labelled, too.
    """
    if has_unplayed_runs(tournament):  # counted only when nothing waits any more, not at every commit
        return False
    field = field_of(tournament)
    progress = progress_of(tournament, len(sizes_of(tournament)))
    defences = {each.player.pk for each in field if not each.attacks}
    return all(
        progress.attack_is_played(each.player.pk)
        and all(progress.pair_is_played(each.player.pk, defence) for defence in defences)
        for each in field
        if each.attacks
    )


def failed_runs(tournament: Tournament) -> list[AnyRun]:
    """Return the runs that were given up after platform errors."""
    attacks = tournament.attack_runs.filter(state=Run.State.FAILED).select_related("attack")
    defences = DefenceRun.objects.filter(attack_run__tournament=tournament, state=Run.State.FAILED)
    repeats = tournament.repeat_runs.filter(state=Run.State.FAILED).select_related("defence")
    return [
        *attacks.order_by("pk"),
        *defences.select_related("attack_run__attack", "defence").order_by("pk"),
        *repeats.order_by("pk"),
    ]


def stuck_run(tournament: Tournament) -> AnyRun | None:
    """Return the first run that waits after faults, which only another host or an organiser can settle."""
    attacks = stuck_runs(AttackRun).filter(tournament=tournament).select_related("attack")
    defences = stuck_runs(DefenceRun).filter(attack_run__tournament=tournament)
    repeats = stuck_runs(RepeatRun).filter(tournament=tournament).select_related("defence")
    first: AnyRun | None = (
        attacks.order_by("pk").first()
        or defences.select_related("attack_run__attack", "defence").order_by("pk").first()
        or repeats.order_by("pk").first()
    )
    return first


def run_counts(tournament: Tournament) -> tuple[int, int]:
    """Return how many runs are played, of how many that are needed as far as the attacks are played.

    An attack that was not run yet on a batch is taken to make images of it, so that the number only falls.
    """
    field = field_of(tournament)
    batches = len(sizes_of(tournament))
    progress = progress_of(tournament, batches)
    attacks = {each.player.pk for each in field if each.attacks}
    defences = {each.player.pk for each in field if not each.attacks}
    to_label = sum(progress.to_label.get(key, 0) + batches - progress.attacked.get(key, 0) for key in attacks)
    played = sum(progress.attacked.values()) + sum(progress.labelled.values())
    return played, len(attacks) * batches + to_label * len(defences)
