"""Requests of the runs that a tournament lacks. Each is created once, in whichever process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db.models import Count, Q

from core import clock
from tournaments.engine_adapter import draw_images, repeats_due
from tournaments.models import AttackRun, DefenceRun, RepeatRun, Run, Tournament
from tournaments.selectors import Participant


def request_runs(tournament: Tournament, taking_part: Sequence[Participant], batches: Sequence[tuple[int, int]]) -> int:
    """Create the runs that attacks and defences lack; return how many. `batches` has the epsilon and the size of each.

    Those of a round are of no team and come first.
    """
    return (
        _request_attacks(tournament, taking_part, batches)
        + _request_defences(tournament, taking_part)
        + _request_repeats(tournament, taking_part, max((images for _, images in batches), default=0))
    )


def _request_attacks(
    tournament: Tournament, taking_part: Sequence[Participant], batches: Sequence[tuple[int, int]]
) -> int:
    """Create the runs that attacks lack; return how many. `batches` has the epsilon and the size of each."""
    known = set(tournament.attack_runs.values_list("attack", "batch"))
    now = clock.database_now()
    missing: dict[tuple[int, int], AttackRun] = {}
    for each in taking_part:
        if not each.attacks:
            continue
        for number, (epsilon, images) in enumerate(batches):
            if (each.player.pk, number) not in known:
                missing.setdefault(
                    (each.player.pk, number),
                    AttackRun(
                        tournament=tournament,
                        attack=each.player,
                        batch=number,
                        epsilon=epsilon,
                        images=images,
                        **_share(tournament, each),
                        queued_at=now,
                    ),
                )
    AttackRun.objects.bulk_create(missing.values(), ignore_conflicts=True)
    return len(missing)


def _request_defences(tournament: Tournament, taking_part: Sequence[Participant]) -> int:
    """Create the runs that defences lack, of all that attacks have made so far; return how many.

    They use the share of the later of both teams: that of the submission which made them necessary.
    """
    attacks = {each.player.pk: each for each in taking_part if each.attacks}
    defences = {each.player.pk: each for each in taking_part if not each.attacks}
    played = tournament.attack_runs.filter(state=Run.State.PLAYED, made__gt=0, attack__in=attacks)
    known = set(
        DefenceRun.objects.filter(attack_run__tournament=tournament, defence__in=defences).values_list(
            "attack_run", "defence"
        )
    )
    now = clock.database_now()
    missing = [
        DefenceRun(
            attack_run_id=run,
            defence_id=defence,
            **_share(tournament, max((attacks[attack], each), key=lambda side: side.since)),
            queued_at=now,
        )
        for run, attack in played.order_by("batch", "pk").values_list("pk", "attack")
        for defence, each in defences.items()
        if (run, defence) not in known
    ]
    DefenceRun.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing)


def _request_repeats(tournament: Tournament, taking_part: Sequence[Participant], images: int) -> int:
    """Create the repeats that defences lack whose runs are all played, of at most so many images; return how many."""
    defences = {each.player.pk: each.player for each in taking_part if not each.attacks}
    runs = DefenceRun.objects.filter(attack_run__tournament=tournament, defence__in=defences).order_by()
    played = Count("pk", filter=Q(state=Run.State.PLAYED))
    rows = runs.values_list("defence").annotate(played=played, all=Count("pk"))
    done = {defence: count for defence, count, everything in rows if count == everything}
    known = Counter(tournament.repeat_runs.filter(defence__in=done).values_list("defence", flat=True))
    lacking = {defence: range(known[defence], repeats_due(count)) for defence, count in done.items()}
    now = clock.database_now()
    missing = []
    for defence in filter(lacking.get, lacking):
        labelled = {
            run: (batch, labels)
            for run, batch, labels in runs.filter(defence=defence)
            .order_by("pk")
            .values_list("pk", "attack_run__batch", "labels")
        }
        for number in lacking[defence]:
            drawn = draw_images(labelled, images, (tournament.seed, defences[defence].digest, number))
            if drawn:
                missing.append(
                    RepeatRun(
                        tournament=tournament,
                        defence_id=defence,
                        number=number,
                        images=[(each.run, each.index) for each in drawn],
                        priority=Run.Priority.ROUND if tournament.fixed else Run.Priority.REPEAT,
                        queued_at=now,
                    )
                )
    RepeatRun.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing)


def _share(tournament: Tournament, whose: Participant) -> dict[str, int | None]:
    if tournament.fixed:
        return {"priority": Run.Priority.ROUND, "entry_id": None}
    return {"priority": Run.Priority.BOARD, "entry_id": whose.entry_id}
