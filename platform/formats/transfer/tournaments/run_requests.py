"""Requests of the runs that a tournament lacks, each created once in whichever process; cancelling of others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from core import clock, event_log, worker_notifications
from formats.transfer.tournaments import pair_totals, run_queue
from formats.transfer.tournaments.engine_runs import NO_LABEL, LabelledImages, repeats_due
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun, Run, Tournament
from formats.transfer.tournaments.selectors import UNPLAYED, AnyRun, Participant, RequestSide, unplayed_of_pairs
from workers.models import Priority
from workers.team_queue_order import charge_all
from workers.work_kind_interface import Held


def request_runs(tournament: Tournament, taking_part: Sequence[Participant], batches: Sequence[tuple[int, int]]) -> int:
    """Create the runs that attacks and defences lack; return how many. `batches` has the epsilon and the size of each.

    Those of a round are of no team and come first.
    """
    sides = [each.side for each in taking_part]
    return (
        _request_attacks(tournament, taking_part, batches)
        + _request_defences(tournament, sides, _lacking_defences(tournament, sides))
        + _request_repeats(tournament, taking_part, max((images for _, images in batches), default=0))
    )


def request_following(tournament: Tournament, taking_part: Callable[[], Sequence[RequestSide]]) -> int:
    """Create the runs of defences that follow from attack runs played since the last request; return how many.

    Workers are notified of them. Nothing else is read, and those who take part only if there is such an attack run.
    """
    played = tournament.attack_runs.filter(state=Run.State.PLAYED, defences_requested=False)
    keys = list(played.order_by().values_list("pk", flat=True))
    if not keys:
        return 0
    waited = run_queue.anything_waits()
    sides = taking_part()
    defences = _defences_of(sides)
    # a sweep may have requested them
    known = Count("defence_runs", filter=Q(defence_runs__defence__in=defences))
    lacking = AttackRun.objects.filter(pk__in=keys).annotate(known=known).filter(known__lt=len(defences))
    requested = _request_defences(tournament, sides, [(lacking, defences)])
    # those of attacks that no longer take part, too: the sweep looks at all runs of one that comes back
    AttackRun.objects.filter(pk__in=keys).update(defences_requested=True)
    if requested and not waited:  # else workers pass a notification on already
        worker_notifications.notify("workers.play")
    return requested


def cancel_runs(tournament: Tournament, taking_part: Sequence[Participant]) -> int:
    """Delete the runs of players that no longer take part and are not played; return how many.

    A worker that holds one stops at its next heartbeat. `request_runs` creates them again once they are needed.
    """
    attacks = [each.player.pk for each in taking_part if each.attacks]
    defences = [each.player.pk for each in taking_part if not each.attacks]
    needed = Q(attack_run__attack__in=attacks, defence__in=defences)
    cancelled = _delete_unplayed(tournament.attack_runs.exclude(attack__in=attacks))
    cancelled += _delete_unplayed(DefenceRun.objects.filter(attack_run__tournament=tournament).exclude(needed))
    cancelled += _delete_unplayed(tournament.repeat_runs.exclude(defence__in=defences))
    if cancelled:
        event_log.record("cancel_runs", tournament, number=len(cancelled))
    held = (run for run in cancelled if run.state == Run.State.CLAIMED)
    charge_all((Held(run.priority, run.entry_id, run.claimed_at) for run in held), clock.database_now())
    return len(cancelled)


def _delete_unplayed(runs: QuerySet[Any]) -> list[AnyRun]:
    """Delete those that wait, are held or were given up. One that is just being claimed or committed is skipped."""
    unplayed = runs.filter(state__in=UNPLAYED).order_by("pk")
    read = unplayed.only("state", "priority", "entry", "claimed_at")  # they may be many
    found = list(read.select_for_update(skip_locked=True, of=("self",)))
    if found:
        runs.model.objects.filter(pk__in=[run.pk for run in found]).delete()
    return found


def _request_attacks(
    tournament: Tournament, taking_part: Sequence[Participant], batches: Sequence[tuple[int, int]]
) -> int:
    attacks: dict[int, Participant] = {}
    for each in taking_part:
        if each.attacks:
            attacks.setdefault(each.player.pk, each)
    requested = tournament.attack_runs.filter(attack__in=attacks).order_by().values("attack")
    complete = set(requested.annotate(count=Count("pk")).filter(count=len(batches)).values_list("attack", flat=True))
    lacking = [key for key in attacks if key not in complete]
    known = set(tournament.attack_runs.filter(attack__in=lacking).values_list("attack", "batch"))
    now = clock.database_now()
    missing = [
        AttackRun(
            tournament=tournament,
            attack_id=attack,
            batch=number,
            epsilon=epsilon,
            images=images,
            **_share(tournament, attacks[attack].side),
            queued_at=now,
        )
        for attack in lacking
        for number, (epsilon, images) in enumerate(batches)
        if (attack, number) not in known
    ]
    AttackRun.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing)


def _request_defences(
    tournament: Tournament,
    taking_part: Sequence[RequestSide],
    lacking: Iterable[tuple[QuerySet[AttackRun], Collection[int]]],
) -> int:
    """Create the runs that are `lacking`: of some defences on the images of some attack runs; return how many.

    They use the share of the later of both teams: that of the submission which made them necessary.
    """
    attacks = {each.player: each for each in taking_part if each.attacks}
    defences = {each.player: each for each in taking_part if not each.attacks}
    missing: list[tuple[int, int, int, int]] = []
    for attack_runs, of_defences in lacking:
        made = attack_runs.filter(attack__in=attacks, state=Run.State.PLAYED, made__gt=0).order_by()
        rows = list(made.values_list("batch", "pk", "attack"))
        runs = DefenceRun.objects.filter(attack_run__in=[run for _, run, _ in rows], defence__in=of_defences)
        known = set(runs.order_by().values_list("attack_run", "defence"))
        missing += [
            (batch, run, attack, defence)
            for batch, run, attack in rows
            for defence in defences
            if defence in of_defences and (run, defence) not in known
        ]
    now = clock.database_now()
    requests = [
        DefenceRun(
            attack_run_id=run,
            defence_id=defence,
            **_share(tournament, max((attacks[attack], defences[defence]), key=lambda side: side.since)),
            queued_at=now,
        )
        for _, run, attack, defence in sorted(missing, key=lambda each: each[:2])
    ]
    DefenceRun.objects.bulk_create(requests, ignore_conflicts=True)
    return len(requests)


def _lacking_defences(
    tournament: Tournament, taking_part: Sequence[RequestSide]
) -> list[tuple[QuerySet[AttackRun], Collection[int]]]:
    """Return the attack runs whose attacks some defences lack runs on, each group with these defences.

    From the totals and the runs that are not played: the played ones are many.
    """
    attacks, defences = [each.player for each in taking_part if each.attacks], _defences_of(taking_part)
    made = tournament.attack_runs.filter(attack__in=attacks, state=Run.State.PLAYED, made__gt=0).order_by()
    needed = dict(made.values_list("attack").annotate(Count("pk")))
    played, unplayed = pair_totals.labelled_batches(tournament), unplayed_of_pairs(tournament)
    groups: dict[frozenset[int], list[int]] = defaultdict(list)
    for attack, count in needed.items():
        pairs = ((attack, defence) for defence in defences)
        lacking = frozenset(pair[1] for pair in pairs if played.get(pair, 0) + unplayed.get(pair, 0) < count)
        if lacking:
            groups[lacking].append(attack)
    return [(tournament.attack_runs.filter(attack__in=own), lacking) for lacking, own in groups.items()]


def _defences_of(taking_part: Sequence[RequestSide]) -> set[int]:
    return {each.player for each in taking_part if not each.attacks}


def _request_repeats(tournament: Tournament, taking_part: Sequence[Participant], images: int) -> int:
    """Create the repeats that defences lack whose runs are all played, of at most so many images; return how many."""
    defences = {each.player.pk: each.player for each in taking_part if not each.attacks}
    under_way = {defence for _, defence in unplayed_of_pairs(tournament)}
    done: Counter[int] = Counter()
    for (_, defence), count in pair_totals.labelled_batches(tournament, defences).items():
        if defence in defences and defence not in under_way:
            done[defence] += count
    # an earlier one may be missing: it was deleted while its defence took no part
    known = set(tournament.repeat_runs.filter(defence__in=done).values_list("defence", "number"))
    lacking = {
        defence: [number for number in range(repeats_due(count)) if (defence, number) not in known]
        for defence, count in done.items()
    }
    now = clock.database_now()
    missing = []
    for defence in filter(lacking.get, lacking):
        labelled = _labelled_images(tournament, defence)
        for number in lacking[defence]:
            drawn = labelled.draw(images, (tournament.seed, defences[defence].digest, number))
            if drawn:
                missing.append(
                    RepeatRun(
                        tournament=tournament,
                        defence_id=defence,
                        number=number,
                        images=[(each.run, each.index) for each in drawn],
                        priority=Priority.ROUND if tournament.fixed else Priority.REPEAT,
                        queued_at=now,
                    )
                )
    RepeatRun.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing)


def _labelled_images(tournament: Tournament, defence: int) -> LabelledImages[int]:
    """Return the images that a defence labelled. Labels are read only of runs that left an image out."""
    runs = DefenceRun.objects.filter(attack_run__tournament=tournament, defence=defence).order_by("pk")
    incomplete = runs.exclude(labelled=F("attack_run__images")).values_list("pk", "labels")
    labelled = {run: tuple(label != NO_LABEL for label in labels) for run, labels in incomplete}
    rows = runs.values_list("pk", "attack_run__batch", "attack_run__images")
    return LabelledImages({run: (batch, labelled.get(run, _all(images))) for run, batch, images in rows})


@cache
def _all(images: int) -> tuple[bool, ...]:
    return (True,) * images


def _share(tournament: Tournament, whose: RequestSide) -> dict[str, int | None]:
    if tournament.fixed:
        return {"priority": Priority.ROUND, "entry_id": None}
    return {"priority": Priority.BOARD, "entry_id": whose.entry_id}
